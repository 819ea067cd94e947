/**
 * What the check of one tier's values gives: values with their lines, rules and hooks with their places.
 *
 * @since 0.1.0
 */
import { once } from "../domain/Once.ts"
import type * as Document from "./Document.ts"
import type { LocatedRule } from "./RuleCheck.ts"

/** A checked value: objects stay open for the merge, everything else is replaced whole. @since 0.1.0 @category models */
export type Entry =
  | { readonly kind: "object"; readonly members: ReadonlyMap<string, Entry>; readonly line: number | null }
  | { readonly kind: "value"; readonly value: unknown; readonly line: number | null }

type ObjectEntry = Entry & { readonly kind: "object" }

/**
 * The entry of a server that is switched off, of which it is known that nothing is wrong with it: made when somebody asks
 * where its values stand, or lies something over it.
 *
 * @since 0.1.0
 * @category models
 */
export class DisabledEntry {
  readonly kind = "object"
  private readonly node: { readonly value: unknown }
  private readonly entry: () => ObjectEntry

  constructor(node: { readonly value: unknown }, make: () => ObjectEntry) {
    this.node = node
    this.entry = once(make)
  }

  /** Its plain value. */
  get value(): unknown {
    return this.node.value
  }

  get members(): ReadonlyMap<string, Entry> {
    return this.entry().members
  }

  get line(): number | null {
    return this.entry().line
  }
}

/** A hook and its number in its file. @since 0.1.0 @category models */
export interface LocatedHook {
  readonly index: number
  readonly entry: Entry
}

/** @since 0.1.0 @category models */
export interface CheckedRoot {
  /** By key, in the order of the file; `permissions` and `hooks` are not in it. */
  readonly values: ReadonlyMap<string, Entry>
  readonly rules: ReadonlyArray<LocatedRule>
  readonly hooks: ReadonlyArray<LocatedHook>
  /** Every known key of the top level in the order of the file, `permissions` and `hooks` too. */
  readonly keys: ReadonlyArray<string>
  /** MCP servers with an invalid value: they do not run (reading 4.6). */
  readonly invalid_servers: ReadonlySet<string>
  /** MCP servers that are adjusted here, by more than switching them off, and not defined; with their places. */
  readonly overlays: ReadonlyMap<string, Document.Position | null>
}

/** The plain value of a checked entry. @since 0.1.0 @category combinators */
export const plain = (entry: Entry): unknown => {
  if (entry.kind === "value" || entry instanceof DisabledEntry) return entry.value
  const object: Record<string, unknown> = Object.create(null)
  for (const [key, member] of entry.members) object[key] = plain(member)
  return object
}
