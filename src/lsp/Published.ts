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

/** @since 0.1.0 @category models */
export class Published {
  readonly #sets = new Map<string, PublishedSet>()
  #seq = 0

  get seq(): number {
    return this.#seq
  }

  set(uri: string, items: ReadonlyArray<Diagnostic>, version: number | null, at: number): void {
    const key = keyOf(uri)
    this.#sets.delete(key)
    this.#sets.set(key, { uri, items, version, at, seq: ++this.#seq })
    for (const oldest of this.#sets.keys()) {
      if (this.#sets.size <= maxFiles) break
      this.#sets.delete(oldest)
    }
  }

  get(uri: string): PublishedSet | undefined {
    return this.#sets.get(keyOf(uri))
  }

  all(): ReadonlyArray<PublishedSet> {
    return [...this.#sets.values()]
  }
}
