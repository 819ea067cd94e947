/**
 * Bytes that gather until a message is whole: appending costs time in proportion to the bytes, however small the pieces,
 * and a large buffer is not kept once it has been used.
 *
 * @since 0.1.0
 */
const initialBytes = 1_024
const keptBytes = 65_536

/** The longest string there can be (2^29 - 24 UTF-16 units), less one. @since 0.1.0 @category constants */
export const largestText = 536_870_887

const decoder = new TextDecoder("utf-8", { ignoreBOM: true })

/** Ill-formed sequences become U+FFFD. @since 0.1.0 @category decoding */
export const decode = (bytes: Uint8Array): string => decoder.decode(bytes)

/** @since 0.1.0 @category models */
export class ByteBuffer {
  #bytes = new Uint8Array(initialBytes)
  #size = 0

  get size(): number {
    return this.#size
  }

  append(bytes: Uint8Array): void {
    const needed = this.#size + bytes.byteLength
    if (needed > this.#bytes.byteLength) {
      const larger = new Uint8Array(Math.max(needed, this.#bytes.byteLength * 2))
      larger.set(this.#bytes.subarray(0, this.#size))
      this.#bytes = larger
    }
    this.#bytes.set(bytes, this.#size)
    this.#size = needed
  }

  /** What is in it; good until the next call. */
  view(): Uint8Array {
    return this.#bytes.subarray(0, this.#size)
  }

  clear(): void {
    this.#size = 0
    if (this.#bytes.byteLength > keptBytes) this.#bytes = new Uint8Array(initialBytes)
  }
}
