/**
 * What a request could not carry. The list goes to the debug log, so that nothing disappears without a word.
 *
 * @since 0.1.0
 */

/**
 * Each line names the field and says what became of it, for example `temperature: not sent, the model reasons`.
 *
 * @since 0.1.0
 * @category models
 */
export interface Lossiness {
  readonly drop: (field: string, why: string) => void
  readonly dropped: () => ReadonlyArray<string>
}

/** @since 0.1.0 @category constructors */
export const make = (): Lossiness => {
  const lines = new Set<string>()
  return {
    drop: (field, why) => {
      lines.add(`${field}: ${why}`)
    },
    dropped: () => [...lines]
  }
}
