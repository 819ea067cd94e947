/**
 * The check of one tier's values (readings 4.5 to 4.7, 7.1, 7.2). It walks the Schema of the settings over the tree of the
 * file, so that every complaint has its line and column, one bad value does not hide the next, and nothing is coerced.
 *
 * @since 0.1.0
 */
import * as AST from "effect/SchemaAST"
import { nearest } from "../codec/Distance.ts"
import { once } from "../domain/Once.ts"
import { type CheckedRoot, DisabledEntry, type Entry, type LocatedHook, plain } from "./Checked.ts"
import * as Document from "./Document.ts"
import { hookComplaints } from "./HookRules.ts"
import type { FoundIssue, Place, Tier } from "./Issue.ts"
import { checkRules, type LocatedRule } from "./RuleCheck.ts"
import { fields, mcpServerConfig } from "./Sections.ts"
import {
  acceptsAbsence,
  fits,
  isFree,
  isKnown,
  isPlain,
  isRefined,
  isValid,
  knownKeys,
  type Shape,
  shapeOf,
  spellingsOf,
  strip,
  topShape,
  unrefined,
  wanted
} from "./SchemaTypes.ts"
import { checkServer, isAdjusting } from "./ServerCheck.ts"
import { addressComplaint } from "./TelemetryTarget.ts"
import { DisabledServer } from "./TreeReader.ts"
import { quote, typeName } from "./Words.ts"

/** Keys that count in the user tier only (readings 4, 4.7, 6.11); `telemetry` in the managed one, too. */
const sensitive: ReadonlySet<string> = new Set([
  "api_key",
  "oauth_credentials",
  "api_key_command",
  "audit_required",
  "auth",
  "telemetry",
  "session_retention",
  "checkpoints",
  "checkpoint_days",
  "checkpoint_max_mb"
])

/** What managed settings may hold beside rules that deny. */
const managed: ReadonlySet<string> = new Set(["limits", "telemetry"])

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

const itemType = (ast: AST.AST): AST.AST | undefined => {
  const base = unrefined(ast)
  return AST.isTupleType(base) ? base.rest[0]?.type : undefined
}

/** The items of an array of any texts; null when it holds something else, or not any text will do. */
const textsIn = (node: Document.Node & { readonly type: "array" }, ast: AST.AST): ReadonlyArray<string> | null => {
  const item = itemType(ast)
  if (item === undefined || !AST.isStringKeyword(item)) return null
  const texts: Array<string> = []
  for (const each of node.items) {
    if (each.type !== "string") return null
    texts.push(each.value)
  }
  return texts
}

/** So many errors are told one by one, and so many warnings: these must not hide those. */
const maxIssues = 1_000

/** Made when a server is read, which needs more than a look. */
const serverShape = once((): Shape => shapeOf(unrefined(mcpServerConfig().ast)))

/** @since 0.1.0 @category models */
export class Check {
  private readonly issues: Array<FoundIssue> = []
  readonly invalid_servers = new Set<string>()
  readonly overlays = new Map<string, Document.Position | null>()
  /** How many of the issues are errors, told or not. */
  errors = 0
  private readonly counts = { error: 0, warning: 0 }
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
    if (severity === "error") this.errors += 1
    this.counts[severity] += 1
    if (this.counts[severity] > maxIssues) return undefined
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

  /** Those that were reported, and how many more there are. */
  get found(): ReadonlyArray<FoundIssue> {
    const more = (["error", "warning"] as const).filter((severity) => this.counts[severity] > maxIssues).map((
      severity
    ) => ({
      severity,
      code: "too_many_issues",
      tier: this.tier,
      ...(this.file === undefined ? {} : { file: this.file }),
      key: null,
      line: null,
      column: null,
      message: `${this.counts[severity] - maxIssues} more ${severity}s of these settings are not listed`
    }))
    return more.length === 0 ? this.issues : [...this.issues, ...more]
  }

  line(node: Document.Node): number | null {
    return this.place.line(node.offset)
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
    const snakeOf = spellingsOf(known)
    const other = (key: string): boolean => (snakeOf.get(key) ?? key) !== key
    if (!members.some(({ key }) => other(key))) return members
    const names = new Set(members.map((member) => member.key))
    return members.flatMap((member) => {
      const snake = snakeOf.get(member.key)
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
    if (
      (node.type === "string" || node.type === "boolean") && types.some((type) => isPlain(type) && fits(node, type))
    ) {
      return { kind: "value", value: node.value, line: this.line(node) }
    }
    if (types.some((type) => AST.isUnknownKeyword(type))) {
      this.duplicatesIn(node, path)
      return { kind: "value", value: free(node), line: this.line(node) }
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
    if (node.type === "object") {
      return isFree(unrefined(type)) ? this.freeObject(node, path) : this.object(node, shapeOf(unrefined(type)), path)
    }
    if (node.type === "array") return this.array(node, type, path)
    if (node.type === "number" && !Number.isFinite(node.value)) {
      return this.report("error", "invalid_value", path, node.offset, `${path} is too large a number`)
    }
    for (const candidate of candidates) {
      if (isPlain(candidate)) return { kind: "value", value: node.value, line: this.line(node) }
      if (isValid(node.value, candidate)) return { kind: "value", value: node.value, line: this.line(node) }
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

  /** An object whose keys are another program's affair: one value, not merged. */
  freeObject(node: Document.Node & { readonly type: "object" }, path: string): Entry {
    this.duplicatesIn(node, path)
    return { kind: "value", value: free(node), line: this.line(node) }
  }

  duplicatesIn(node: Document.Node, path: string): void {
    if (node.type === "array") node.items.forEach((item, index) => this.duplicatesIn(item, `${path}.${index}`))
    if (node.type !== "object") return
    for (const { key, value } of this.members(node, [], `${path}.`)) this.duplicatesIn(value, `${path}.${key}`)
  }

  /** Undefined when a key that it cannot do without is missing or rejected. */
  object(node: Document.Node & { readonly type: "object" }, shape: Shape, path: string): Entry | undefined {
    const members = new Map<string, Entry>()
    const { byName, index, names, required } = shape
    const prefix = path === "" ? "" : `${path}.`
    const found = this.members(node, names, prefix)
    for (const member of found) {
      const key = prefix + member.key
      if (path === "" && member.key === "mcp_servers" && member.value.type === "object") {
        members.set(member.key, this.servers(member.value))
        continue
      }
      const property = byName.get(member.key)
      const valueType = property?.type ?? index?.type
      if (valueType === undefined) {
        if (path === "" && member.key === "$schema") continue
        this.unknown(key, member, byName.keys())
        continue
      }
      const entry = this.value(member.value, valueType, key)
      if (entry !== undefined) members.set(member.key, entry)
      if (path === "telemetry" && entry?.kind === "value") this.telemetry(key, member, entry.value)
    }
    let complete = true
    for (const name of required) {
      if (acceptsAbsence(path, name) || members.has(name)) continue
      complete = false
      const there = found.find((member) => member.key === name)
      // what was rejected has been told already; null counts as absent (reading 4.3)
      if (there !== undefined && there.value.type !== "null") continue
      this.report(
        "error",
        "invalid_value",
        prefix + name,
        there?.value.offset ?? node.offset,
        `${path} needs the key ${quote(name)}`
      )
    }
    if (path.startsWith("hooks.") && /^hooks\.\d+$/u.test(path)) this.hook(node, found, members, path)
    return complete ? { kind: "object", members, line: this.line(node) } : undefined
  }

  unknown(key: string, member: Document.Member, known: Iterable<string>): void {
    const near = nearest(member.key, known)
    this.report(
      "warning",
      "unknown_key",
      key,
      member.key_offset,
      `the key ${quote(member.key)} is not known here and not used${
        near === undefined ? "" : `; did you mean ${quote(near)}?`
      }`
    )
  }

  /** Reading 4.8: each entry is a definition or an overlay. */
  servers(node: Document.Node & { readonly type: "object" }): Entry {
    const members = new Map<string, Entry>()
    for (const { key, value } of this.members(node, [], "mcp_servers.")) {
      if (value instanceof DisabledServer) {
        members.set(key, this.disabled(value, key))
        continue
      }
      const path = `mcp_servers.${key}`
      const before = this.errors
      const entry = value.type === "object"
        ? this.object(checkServer(this, value, path), serverShape(), path)
        : this.value(value, mcpServerConfig().ast, path)
      if (entry !== undefined) members.set(key, entry)
      if (this.errors > before) this.invalid_servers.add(key)
      else if (entry?.kind === "object" && isAdjusting(entry.members)) {
        this.overlays.set(key, this.place.position(value.offset))
      }
    }
    return { kind: "object", members, line: this.line(node) }
  }

  /** Nothing is wrong with it, so that nothing is to be told. */
  disabled(node: DisabledServer, name: string): Entry {
    return new DisabledEntry(node, () => {
      const entry = new Check(this.tier, this.file, this.place).object(node, serverShape(), `mcp_servers.${name}`)
      return entry?.kind === "object" ? entry : { kind: "object", members: new Map(), line: this.line(node) }
    })
  }

  telemetry(key: string, { key: name, value: { offset } }: Document.Member, value: unknown): void {
    const complaint = addressComplaint(name, value)
    if (complaint !== null) this.report("warning", "invalid_value", key, offset, `${key} ${complaint}`)
  }

  hook(
    node: Document.Node,
    found: ReadonlyArray<Document.Member>,
    members: ReadonlyMap<string, Entry>,
    path: string
  ): void {
    const present = new Map(found.filter(({ value }) => value.type !== "null").map(({ key, value }) => [key, value]))
    const values = new Map([...members].map(([key, entry]) => [key, plain(entry)]))
    for (const { code, key, message, severity } of hookComplaints(values, new Set(present.keys()))) {
      const offset = present.get(key)?.offset ?? node.offset
      this.report(severity, code, `${path}.${key}`, offset, `${path} ${message}`)
    }
  }

  /** Items of an array; a rejected one is left out. */
  items(
    node: Document.Node & { readonly type: "array" },
    ast: AST.AST,
    path: string
  ): ReadonlyArray<LocatedHook> {
    const rest = itemType(ast)
    return node.items.flatMap((item, index) => {
      const place = `${path}.${index}`
      if (item.type === "null") {
        this.report("error", "wrong_type", place, item.offset, `${place} must not be null`)
        return []
      }
      const entry = rest === undefined ? undefined : this.value(item, rest, place)
      return entry === undefined ? [] : [{ index, entry }]
    })
  }

  array(node: Document.Node & { readonly type: "array" }, ast: AST.AST, path: string): Entry | undefined {
    const before = this.errors
    const value = textsIn(node, ast) ?? this.items(node, ast, path).map(({ entry }) => plain(entry))
    const description = AST.getDescriptionAnnotation(ast)
    if (this.errors === before && !isRefined(value, ast)) {
      return this.report(
        "error",
        "invalid_value",
        path,
        node.offset,
        `${path} must be ${description._tag === "Some" ? description.value : "another array"}`
      )
    }
    return { kind: "value", value, line: this.line(node) }
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
      return { values: new Map(), rules: [], hooks: [], keys: [], invalid_servers: new Set(), overlays: new Map() }
    }
    const kept: Array<Document.Member> = []
    const keys: Array<string> = []
    let rules: ReadonlyArray<LocatedRule> = []
    let hooks: ReadonlyArray<LocatedHook> = []
    for (const member of this.members(node, knownKeys, "")) {
      const { key, value } = member
      if (isKnown(key)) keys.push(key)
      if (key === "permissions") rules = checkRules(this, value)
      else if (value.type === "null" || !isKnown(key)) kept.push(member)
      else if (this.tier === "managed" && managed.has(key)) kept.push(member)
      else if (sensitive.has(key) && this.tier !== "user" && !(this.tier === "env" && key === "api_key")) {
        this.ignored(key, value)
      } else if (this.tier === "managed") {
        this.report(
          "warning",
          "managed_not_deny",
          key,
          value.offset,
          `managed settings can only deny, limit and say where telemetry goes; ${key} is ignored here`
        )
      } else if (key === "hooks" && value.type === "array") hooks = this.items(value, fields.hooks().ast, "hooks")
      else kept.push(member)
    }
    const checked = this.object({ ...node, members: kept }, topShape, "")
    return {
      values: checked?.kind === "object" ? checked.members : new Map(),
      rules,
      hooks,
      keys,
      invalid_servers: this.invalid_servers,
      overlays: this.overlays
    }
  }

  /** Reading 4.7: told without its value, and not kept. */
  ignored(key: string, value: Document.Node): void {
    this.report(
      "warning",
      "sensitive_ignored",
      key,
      value.offset,
      `${key} counts only in the user's own settings; it is ignored here`
    )
  }
}
