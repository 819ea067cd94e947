/**
 * The types of the settings' Schema, as the check of a file asks for them: what a value may be, how messages say it, and
 * which keys there are. Nothing is coerced (reading 4.6).
 *
 * @since 0.1.0
 */
import * as Option from "effect/Option"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import * as AST from "effect/SchemaAST"
import type * as Document from "./Document.ts"
import { once } from "../domain/Once.ts"
import { fields } from "./Sections.ts"
import { camel } from "./Words.ts"

const stripped = new WeakMap<AST.AST, ReadonlyArray<AST.AST>>()

const stripOnce = (ast: AST.AST): ReadonlyArray<AST.AST> =>
  AST.isUnion(ast)
    ? ast.types.flatMap(stripOnce)
    : AST.isUndefinedKeyword(ast) || (AST.isLiteral(ast) && ast.literal === null)
    ? []
    : [ast]

/** The types a value may have: the members of a union, without null and undefined. @since 0.1.0 @category combinators */
export const strip = (ast: AST.AST): ReadonlyArray<AST.AST> => {
  const known = stripped.get(ast) ?? stripOnce(ast)
  stripped.set(ast, known)
  return known
}

const validators = new WeakMap<AST.AST, (value: unknown) => boolean>()

/** Is a value of the Schema's type, refinements and all? What checks it is made once a type. @since 0.1.0 @category combinators */
export const isValid = (value: unknown, ast: AST.AST): boolean => {
  if (AST.isLiteral(ast)) return ast.literal === value
  const known = validators.get(ast) ?? ParseResult.is(Schema.make(ast))
  validators.set(ast, known)
  return known(value)
}

/** How messages say what a value must be. @since 0.1.0 @category encoding */
export const wanted = (types: ReadonlyArray<AST.AST>): string => {
  const literals = types.filter(AST.isLiteral).map((literal) => JSON.stringify(literal.literal))
  const others = types.filter((type) => !AST.isLiteral(type)).map((type) => {
    const base = unrefined(type)
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

/** Is a value that is of a type without what refines it, also of the type itself? @since 0.1.0 @category combinators */
export const isRefined = (value: unknown, ast: AST.AST): boolean =>
  !AST.isRefinement(ast) ||
  (isRefined(value, ast.from) && Option.isNone(ast.filter(value, AST.defaultParseOption, ast)))

/** A type without what refines it. @since 0.1.0 @category combinators */
export const unrefined = (ast: AST.AST): AST.AST => AST.isRefinement(ast) ? unrefined(ast.from) : ast

/** Is a value of the file of this type, as far as JSON goes? @since 0.1.0 @category combinators */
export const fits = (node: Document.Node, type: AST.AST): boolean => {
  const base = unrefined(type)
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

/** Text to anything: the keys are another program's affair. @since 0.1.0 @category combinators */
export const isFree = (ast: AST.AST): boolean =>
  AST.isTypeLiteral(ast) && ast.propertySignatures.length === 0 &&
  ast.indexSignatures.some((index) => AST.isUnknownKeyword(index.type))

/** Keys that the tier of defaults holds, so that no file needs them. @since 0.1.0 @category combinators */
export const acceptsAbsence = (path: string, name: string): boolean =>
  (path === "lsp" && name === "servers") || (path === "auth" && name === "providers")

/** Every key of the settings' top level. @since 0.1.0 @category constants */
export const knownKeys: ReadonlyArray<string> = Object.keys(fields)

/** @since 0.1.0 @category combinators */
export const isKnown = (key: string): boolean => knownKeys.includes(key)

/** What a type of the Schema says about an object; made once a type. @since 0.1.0 @category models */
export interface Shape {
  readonly byName: ReadonlyMap<string, { readonly type: AST.AST }>
  readonly names: ReadonlyArray<string>
  readonly index: AST.IndexSignature | undefined
  /** Keys that must be there. */
  readonly required: ReadonlyArray<string>
}

/** The top level: the type of a key is made when the key is met. @since 0.1.0 @category constants */
export const topShape: Shape = {
  byName: new Map(
    Object.entries(fields).map(([key, make]): [string, { readonly type: AST.AST }] => {
      const ast = once((): AST.AST => make().ast)
      return [key, {
        get type() {
          return ast()
        }
      }]
    })
  ),
  names: knownKeys,
  index: undefined,
  // the lowest tier holds every key
  required: []
}

const shapes = new WeakMap<AST.AST, Shape>()

/** @since 0.1.0 @category combinators */
export const shapeOf = (ast: AST.AST): Shape => {
  const known = shapes.get(ast)
  if (known !== undefined) return known
  const type = AST.isTypeLiteral(ast) ? ast : undefined
  const byName = new Map((type?.propertySignatures ?? []).map((property) => [String(property.name), property]))
  const names = [...byName.keys()]
  const required = (type?.propertySignatures ?? []).flatMap(({ isOptional, name }) => isOptional ? [] : [String(name)])
  const shape = { byName, names, index: type?.indexSignatures[0], required }
  shapes.set(ast, shape)
  return shape
}

const spellings = new WeakMap<ReadonlyArray<string>, ReadonlyMap<string, string>>()

/** From the camelCase spelling of known keys to the keys. @since 0.1.0 @category combinators */
export const spellingsOf = (keys: ReadonlyArray<string>): ReadonlyMap<string, string> => {
  const known = spellings.get(keys)
  if (known !== undefined) return known
  const made = new Map(keys.map((key) => [camel(key), key]))
  spellings.set(keys, made)
  return made
}

/** A type that the kind of a value decides alone. @since 0.1.0 @category combinators */
export const isPlain = (ast: AST.AST): boolean =>
  AST.isStringKeyword(ast) || AST.isNumberKeyword(ast) || AST.isBooleanKeyword(ast)
