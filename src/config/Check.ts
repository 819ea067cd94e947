/**
 * The check of one tier's values (readings 4.5 to 4.7, 7.1, 7.2). It walks the Schema of the settings over the tree of the
 * file, so that every complaint has its line and column, one bad value does not hide the next, and nothing is coerced.
 *
 * @since 0.1.0
 */
import * as Either from "effect/Either"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import * as AST from "effect/SchemaAST"
import { nearest } from "../codec/Distance.ts"
import type { PermissionMode, PermissionRule } from "../domain/Permission.ts"
import * as Document from "./Document.ts"
import { hookComplaints } from "./HookRules.ts"
import { HanzoConfig } from "./Schema.ts"

/** @since 0.1.0 @category models */
export type Tier = "default" | "user" | "project" | "local" | "env" | "flag" | "managed"

/**
 * Something wrong with the settings. Line and column count from 1 in code points and are those of the value, for
 * unknown and duplicate keys those of the key. `frame` is the line with a caret, without values.
 *
 * @since 0.1.0
 * @category models
 */
export interface Issue {
  readonly code: string
  readonly tier: Tier
  readonly file?: string
  readonly key: string | null
  readonly line: number | null
  readonly column: number | null
  readonly message: string
  readonly frame?: string
}

/** @since 0.1.0 @category models */
export interface FoundIssue extends Issue {
  readonly severity: "error" | "warning"
}

/** A checked value: objects stay open for the merge, everything else is replaced whole. @since 0.1.0 @category models */
export type Entry =
  | { readonly kind: "object"; readonly members: ReadonlyMap<string, Entry>; readonly line: number | null }
  | { readonly kind: "value"; readonly value: unknown; readonly line: number | null }

/** @since 0.1.0 @category models */
export interface LocatedRule extends PermissionRule {
  readonly line: number | null
}

/** @since 0.1.0 @category models */
export interface CheckedRoot {
  /** By key; `permissions` and `hooks` are not in it. */
  readonly values: ReadonlyMap<string, Entry>
  readonly rules: ReadonlyArray<LocatedRule>
  readonly hooks: ReadonlyArray<Entry>
}

const sensitive: ReadonlySet<string> = new Set(["api_key", "oauth_credentials", "api_key_command", "audit_required"])

const camel = (key: string): string => key.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())

/** The type under `X | null | undefined` and optional fields. */
const strip = (ast: AST.AST): ReadonlyArray<AST.AST> =>
  AST.isUnion(ast)
    ? ast.types.flatMap(strip)
    : AST.isUndefinedKeyword(ast) || (AST.isLiteral(ast) && ast.literal === null)
    ? []
    : [ast]

const typeName = (node: Document.Node): string =>
  ({
    object: "an object",
    array: "an array",
    string: "a text",
    number: "a number",
    boolean: "a boolean",
    null: "null"
  })[
    node.type
  ]

const wanted = (types: ReadonlyArray<AST.AST>): string => {
  const literals = types.filter(AST.isLiteral).map((literal) => JSON.stringify(literal.literal))
  const others = types.filter((type) => !AST.isLiteral(type)).map((type) => {
    const base = refinementBase(type)
    return AST.isStringKeyword(base)
      ? "a text"
      : AST.isNumberKeyword(base)
      ? "a number"
      : AST.isBooleanKeyword(base)
      ? "true or false"
      : AST.isTupleType(base)
      ? "an array"
      : "an object"
  })
  return [...(literals.length === 0 ? [] : [`one of ${literals.join(", ")}`]), ...others].join(" or ")
}

const refinementBase = (ast: AST.AST): AST.AST => AST.isRefinement(ast) ? refinementBase(ast.from) : ast

const fits = (node: Document.Node, type: AST.AST): boolean => {
  const base = refinementBase(type)
  switch (node.type) {
    case "string":
      return AST.isStringKeyword(base) || (AST.isLiteral(base) && typeof base.literal === "string")
    case "number":
      return AST.isNumberKeyword(base) || (AST.isLiteral(base) && typeof base.literal === "number")
    case "boolean":
      return AST.isBooleanKeyword(base) || (AST.isLiteral(base) && typeof base.literal === "boolean")
    case "array":
      return AST.isTupleType(base)
    case "object":
      return AST.isTypeLiteral(base)
    case "null":
      return false
  }
}

/** The value of a free part (a room reads it itself): members that are null count as absent (reading 4.3). */
const free = (node: Document.Node): unknown => {
  switch (node.type) {
    case "object": {
      const object: Record<string, unknown> = Object.create(null)
      for (const member of Document.unique(node.members).members) {
        if (member.value.type !== "null") object[member.key] = free(member.value)
      }
      return object
    }
    case "array":
      return node.items.map(free)
    default:
      return node.value
  }
}

const top = HanzoConfig.ast

/** Every key of the settings' top level. @since 0.1.0 @category constants */
export const knownKeys: ReadonlyArray<string> = AST.isTypeLiteral(top)
  ? top.propertySignatures.map((property) => String(property.name))
  : []

/** How a check finds the place of an offset. @since 0.1.0 @category models */
export interface Place {
  readonly position: (offset: number) => Document.Position | null
  readonly frame: (offset: number) => string | undefined
}

/** Values that come from no file. @since 0.1.0 @category constants */
export const nowhere: Place = { position: () => null, frame: () => undefined }

/** @since 0.1.0 @category models */
export class Check {
  readonly issues: Array<FoundIssue> = []
  readonly tier: Tier
  readonly file: string | undefined
  readonly place: Place

  constructor(tier: Tier, file: string | undefined, place: Place) {
    this.tier = tier
    this.file = file
    this.place = place
  }

  report(
    severity: "error" | "warning",
    code: string,
    key: string | null,
    offset: number | null,
    message: string
  ): undefined {
    const position = offset === null ? null : this.place.position(offset)
    const frame = severity === "error" && offset !== null ? this.place.frame(offset) : undefined
    this.issues.push({
      severity,
      code,
      tier: this.tier,
      ...(this.file === undefined ? {} : { file: this.file }),
      key,
      line: position?.line ?? null,
      column: position?.column ?? null,
      message,
      ...(frame === undefined ? {} : { frame })
    })
    return undefined
  }

  line(node: Document.Node): number | null {
    return this.place.position(node.offset)?.line ?? null
  }

  /** Members under their written names, each once, spellings of known keys brought to snake_case (G3). */
  members(
    node: Document.Node & { readonly type: "object" },
    known: ReadonlyArray<string>,
    path: string
  ): ReadonlyArray<Document.Member> {
    const { duplicates, members } = Document.unique(node.members)
    for (const { key, key_offset } of duplicates) {
      this.report(
        "warning",
        "duplicate_key",
        path + key,
        key_offset,
        `the key ${quote(key)} stands twice; the last value counts`
      )
    }
    if (known.length === 0) return members
    const names = new Set(members.map((member) => member.key))
    const spellings = new Map(known.map((key) => [camel(key), key]))
    return members.flatMap((member) => {
      const snake = spellings.get(member.key)
      if (snake === undefined || snake === member.key) return [member]
      if (!names.has(snake)) return [{ ...member, key: snake }]
      this.report(
        "warning",
        "duplicate_key",
        path + snake,
        member.key_offset,
        `${quote(member.key)} and ${quote(snake)} are one key; the value of ${quote(snake)} counts`
      )
      return []
    })
  }

  /** A value against its type; undefined when it is rejected (and reported) or null (and so absent). */
  value(node: Document.Node, ast: AST.AST, path: string): Entry | undefined {
    if (node.type === "null") return undefined
    const types = strip(ast)
    if (types.some((type) => AST.isUnknownKeyword(type))) {
      this.duplicatesIn(node, path)
      return node.type === "object" ? this.open(node) : { kind: "value", value: free(node), line: this.line(node) }
    }
    const candidates = types.filter((type) => fits(node, type))
    const type = candidates[0]
    if (type === undefined) {
      return this.report(
        "error",
        "wrong_type",
        path,
        node.offset,
        `${path} must be ${wanted(types)}, this is ${typeName(node)}`
      )
    }
    if (node.type === "object") return this.object(node, refinementBase(type), path)
    if (node.type === "array") return this.array(node, refinementBase(type), path)
    if (node.type === "number" && !Number.isFinite(node.value)) {
      return this.report("error", "invalid_value", path, node.offset, `${path} is too large a number`)
    }
    for (const candidate of candidates) {
      const result = ParseResult.validateEither(Schema.make(candidate))(node.value)
      if (Either.isRight(result)) return { kind: "value", value: node.value, line: this.line(node) }
    }
    const description = AST.getDescriptionAnnotation(type)
    return this.report(
      "error",
      "invalid_value",
      path,
      node.offset,
      `${path} must be ${AST.isRefinement(type) && description._tag === "Some" ? description.value : wanted(types)}`
    )
  }

  /** An object of a free part, open for the merge. */
  open(node: Document.Node & { readonly type: "object" }): Entry {
    const members = new Map<string, Entry>()
    for (const { key, value } of Document.unique(node.members).members) {
      if (value.type === "null") continue
      members.set(
        key,
        value.type === "object" ? this.open(value) : { kind: "value", value: free(value), line: this.line(value) }
      )
    }
    return { kind: "object", members, line: this.line(node) }
  }

  duplicatesIn(node: Document.Node, path: string): void {
    if (node.type === "array") node.items.forEach((item, index) => this.duplicatesIn(item, `${path}.${index}`))
    if (node.type !== "object") return
    for (const { key, value } of this.members(node, [], `${path}.`)) this.duplicatesIn(value, `${path}.${key}`)
  }

  object(node: Document.Node & { readonly type: "object" }, ast: AST.AST, path: string): Entry {
    const members = new Map<string, Entry>()
    const type = AST.isTypeLiteral(ast) ? ast : undefined
    const properties = type?.propertySignatures ?? []
    const index = type?.indexSignatures[0]
    const byName = new Map(properties.map((property) => [String(property.name), property]))
    const prefix = path === "" ? "" : `${path}.`
    const found = this.members(node, [...byName.keys()], prefix)
    for (const member of found) {
      const key = prefix + member.key
      const property = byName.get(member.key)
      const valueType = property?.type ?? index?.type
      if (valueType === undefined) {
        if (path === "" && member.key === "$schema") continue
        const near = nearest(member.key, byName.keys())
        this.report(
          "warning",
          "unknown_key",
          key,
          member.key_offset,
          `the key ${quote(member.key)} is not known here and not used${
            near === undefined ? "" : `; did you mean ${quote(near)}?`
          }`
        )
        continue
      }
      const entry = this.value(member.value, valueType, key)
      if (entry !== undefined) members.set(member.key, entry)
    }
    for (const [name, property] of byName) {
      if (path !== "" && !property.isOptional && !found.some((member) => member.key === name)) {
        this.report("error", "invalid_value", prefix + name, node.offset, `${path} needs the key ${quote(name)}`)
      }
    }
    if (/^hooks\.\d+$/u.test(path)) this.hook(node, found, members, path)
    return { kind: "object", members, line: this.line(node) }
  }

  /** A key that is null is absent (reading 4.3), and a hook has no tier below to show through. */
  hook(
    node: Document.Node,
    found: ReadonlyArray<Document.Member>,
    members: ReadonlyMap<string, Entry>,
    path: string
  ): void {
    for (const { key, value } of found) {
      if (value.type === "null" && (key === "event" || key === "command")) {
        this.report("error", "invalid_value", `${path}.${key}`, value.offset, `${path} needs the key ${quote(key)}`)
      }
    }
    const present = new Map(found.filter(({ value }) => value.type !== "null").map(({ key, value }) => [key, value]))
    const values = new Map([...members].map(([key, entry]) => [key, plain(entry)]))
    for (const { code, key, message, severity } of hookComplaints(values, new Set(present.keys()))) {
      const offset = present.get(key)?.offset ?? node.offset
      this.report(severity, code, `${path}.${key}`, offset, `${path} ${message}`)
    }
  }

  array(node: Document.Node & { readonly type: "array" }, ast: AST.AST, path: string): Entry {
    const rest = AST.isTupleType(ast) ? ast.rest[0]?.type : undefined
    const items: Array<unknown> = []
    node.items.forEach((item, index) => {
      const place = `${path}.${index}`
      if (item.type === "null") {
        this.report("error", "wrong_type", place, item.offset, `${place} must not be null`)
        return
      }
      const entry = rest === undefined ? undefined : this.value(item, rest, place)
      if (entry !== undefined) items.push(plain(entry))
    })
    return { kind: "value", value: items, line: this.line(node) }
  }

  mode(node: Document.Node, path: string): PermissionMode | undefined {
    if (node.type !== "string") {
      return this.report(
        "error",
        "wrong_type",
        path,
        node.offset,
        `${path} must be "allow", "deny" or "prompt", this is ${typeName(node)}`
      )
    }
    if (node.value === "allow" || node.value === "deny" || node.value === "prompt") return node.value
    return this.report(
      "error",
      "invalid_value",
      path,
      node.offset,
      `${path} must be "allow", "deny" or "prompt", in lower case`
    )
  }

  /** Both forms of rules, in file order (readings 7.1, 7.2). */
  rules(node: Document.Node): ReadonlyArray<LocatedRule> {
    const path = "permissions"
    if (node.type === "null") return []
    if (node.type === "object") {
      return this.members(node, [], `${path}.`).flatMap(({ key, value }) => {
        const mode = this.mode(value, `${path}.${key}`)
        return mode === undefined ? [] : [{ tool_pattern: key, mode, line: this.line(value) }]
      })
    }
    if (node.type !== "array") {
      this.report(
        "error",
        "wrong_type",
        path,
        node.offset,
        `${path} must be an object of patterns or an array of rules, this is ${typeName(node)}`
      )
      return []
    }
    return node.items.flatMap((item, index) => {
      const rule = this.rule(item, `${path}.${index}`)
      return rule === undefined ? [] : [rule]
    })
  }

  rule(node: Document.Node, path: string): LocatedRule | undefined {
    if (node.type !== "object") {
      return this.report(
        "error",
        "wrong_type",
        path,
        node.offset,
        `${path} must be an object with tool_pattern and mode, this is ${typeName(node)}`
      )
    }
    const known = ["tool_pattern", "mode", "reason"]
    const members = new Map(this.members(node, known, `${path}.`).map((member) => [member.key, member]))
    for (const member of members.values()) {
      if (!known.includes(member.key)) {
        this.report(
          "warning",
          "unknown_key",
          `${path}.${member.key}`,
          member.key_offset,
          `the key ${quote(member.key)} is not known here and not used`
        )
      }
    }
    for (const name of ["tool_pattern", "mode"]) {
      if (!members.has(name)) {
        this.report("error", "invalid_value", `${path}.${name}`, node.offset, `${path} needs the key ${quote(name)}`)
      }
    }
    const pattern = members.get("tool_pattern")?.value
    const modeNode = members.get("mode")?.value
    const reason = members.get("reason")?.value
    if (pattern !== undefined && pattern.type !== "string") {
      this.report(
        "error",
        "wrong_type",
        `${path}.tool_pattern`,
        pattern.offset,
        `${path}.tool_pattern must be a text, this is ${typeName(pattern)}`
      )
    }
    if (reason !== undefined && reason.type !== "string" && reason.type !== "null") {
      this.report(
        "error",
        "wrong_type",
        `${path}.reason`,
        reason.offset,
        `${path}.reason must be a text or null, this is ${typeName(reason)}`
      )
      return undefined
    }
    const mode = modeNode === undefined ? undefined : this.mode(modeNode, `${path}.mode`)
    return pattern?.type === "string" && mode !== undefined
      ? {
        tool_pattern: pattern.value,
        mode,
        ...(reason?.type === "string" ? { reason: reason.value } : {}),
        line: this.line(node)
      }
      : undefined
  }

  root(node: Document.Node): CheckedRoot {
    if (node.type !== "object") {
      const ignored = this.tier === "project" || this.tier === "local"
      this.report(
        ignored ? "warning" : "error",
        "not_an_object",
        null,
        node.offset,
        `settings must be an object, this is ${typeName(node)}${ignored ? "; the file is ignored" : ""}`
      )
      return { values: new Map(), rules: [], hooks: [] }
    }
    const kept: Array<Document.Member> = []
    let rules: ReadonlyArray<LocatedRule> = []
    for (const member of this.members(node, knownKeys, "")) {
      if (member.key === "permissions") rules = this.rules(member.value)
      else if (sensitive.has(member.key) && this.tier !== "user" && this.tier !== "env") {
        this.report(
          "warning",
          "sensitive_ignored",
          member.key,
          member.key_offset,
          `${member.key} counts only in the user's own settings; it is ignored here`
        )
      } else kept.push(member)
    }
    const checked = this.object({ ...node, members: kept }, top, "")
    const values = new Map(checked.kind === "object" ? checked.members : [])
    const hooks = values.get("hooks")
    values.delete("hooks")
    const written = kept.find(({ key }) => key === "hooks")?.value
    const lines = written?.type === "array"
      ? written.items.filter((item) => item.type === "object").map((item) => this.line(item))
      : []
    return {
      values,
      rules,
      hooks: hooks?.kind === "value" && Array.isArray(hooks.value)
        ? hooks.value.map((value, index): Entry => ({ kind: "value", value, line: lines[index] ?? hooks.line }))
        : []
    }
  }
}

const quote = (key: string): string => JSON.stringify(key)

/** The plain value of a checked entry. @since 0.1.0 @category combinators */
export const plain = (entry: Entry): unknown => {
  if (entry.kind === "value") return entry.value
  const object: Record<string, unknown> = Object.create(null)
  for (const [key, member] of entry.members) object[key] = plain(member)
  return object
}
