/**
 * What servers said about files without being asked, and what they answered: the last set of each file. Bounded: who
 * floods loses the oldest.
 *
 * @since 0.1.0
 */
import { keyOf } from "./Uri.ts"
import type { Diagnostic } from "./Types.ts"

/** Files whose diagnostics are kept. @since 0.1.0 @category constants */
export const maxFiles = 2_000
/** Diagnostics of one file that are kept. @since 0.1.0 @category constants */
export const maxDiagnostics = 1_000
/** UTF-16 units of all their messages that are kept. */
const maxUnits = 16 * 1024 * 1024
/** What a diagnostic costs beside its message. */
const unitsOfOne = 100

/** @since 0.1.0 @category models */
export interface PublishedSet {
  /** The server's spelling. */
  readonly uri: string
  /** In the server's units of characters. */
  readonly items: ReadonlyArray<Diagnostic>
  /** The document's version it is about; null = not said. */
  readonly version: number | null
  /** Clock milliseconds. */
  readonly at: number
  /** Counts the sets of this server. */
  readonly seq: number
}

const unitsOf = (items: ReadonlyArray<Diagnostic>): number =>
  items.reduce((sum, { message }) => sum + message.length + unitsOfOne, 0)

/** @since 0.1.0 @category models */
export class Published {
  readonly #sets = new Map<string, PublishedSet>()
  #seq = 0
  #units = 0

  get seq(): number {
    return this.#seq
  }

  set(uri: string, items: ReadonlyArray<Diagnostic>, version: number | null, at: number): void {
    const key = keyOf(uri)
    const known = this.#sets.get(key)?.version ?? null
    // late news of an older text
    if (known !== null && version !== null && version < known) return
    this.#drop(key)
    this.#sets.set(key, { uri, items, version, at, seq: ++this.#seq })
    this.#units += unitsOf(items)
    for (const oldest of this.#sets.keys()) {
      if (oldest === key || (this.#sets.size <= maxFiles && this.#units <= maxUnits)) break
      this.#drop(oldest)
    }
  }

  #drop(key: string): void {
    this.#units -= unitsOf(this.#sets.get(key)?.items ?? [])
    this.#sets.delete(key)
  }

  get(uri: string): PublishedSet | undefined {
    return this.#sets.get(keyOf(uri))
  }

  all(): ReadonlyArray<PublishedSet> {
    return [...this.#sets.values()]
  }
}
