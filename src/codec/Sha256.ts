/**
 * SHA-256 (FIPS 180-4) as a plain synchronous function, for short texts: names, ids, cache keys. Whoever hashes
 * secrets, files or streams uses the platform's own.
 *
 * @since 0.1.0
 */

/** First 32 bits of the fractional parts of the cube roots of the first 64 primes (FIPS 180-4, section 4.2.2). */
const roundConstants: Uint32Array = (() => {
  const constants = new Uint32Array(64)
  let count = 0
  for (let n = 2; count < 64; n++) {
    let prime = true
    for (let d = 2; d * d <= n; d++) {
      if (n % d === 0) {
        prime = false
        break
      }
    }
    if (!prime) continue
    const root = Math.cbrt(n)
    constants[count++] = Math.floor((root - Math.floor(root)) * 0x1_0000_0000)
  }
  return constants
})()

const initial = [
  0x6a09e667,
  0xbb67ae85,
  0x3c6ef372,
  0xa54ff53a,
  0x510e527f,
  0x9b05688c,
  0x1f83d9ab,
  0x5be0cd19
] as const

const rotr = (x: number, n: number): number => (x >>> n) | (x << (32 - n))

const padded = (bytes: Uint8Array): DataView => {
  const size = (Math.floor((bytes.length + 8) / 64) + 1) * 64
  const block = new Uint8Array(size)
  block.set(bytes)
  block[bytes.length] = 0x80
  const view = new DataView(block.buffer)
  view.setUint32(size - 8, Math.floor(bytes.length / 0x2000_0000))
  view.setUint32(size - 4, (bytes.length << 3) >>> 0)
  return view
}

/**
 * The digest as 64 lower-case hexadecimal digits. A string is hashed as UTF-8, a lone surrogate as U+FFFD.
 *
 * @since 0.1.0
 * @category encoding
 */
export const sha256Hex = (input: string | Uint8Array): string => {
  const view = padded(typeof input === "string" ? new TextEncoder().encode(input) : input)
  const state = new Uint32Array(initial)
  const w = new Uint32Array(64)
  const at = (words: Uint32Array, i: number): number => words[i] ?? 0
  for (let offset = 0; offset < view.byteLength; offset += 64) {
    for (let i = 0; i < 16; i++) w[i] = view.getUint32(offset + i * 4)
    for (let i = 16; i < 64; i++) {
      const a = at(w, i - 15)
      const b = at(w, i - 2)
      const s0 = rotr(a, 7) ^ rotr(a, 18) ^ (a >>> 3)
      const s1 = rotr(b, 17) ^ rotr(b, 19) ^ (b >>> 10)
      w[i] = at(w, i - 16) + s0 + at(w, i - 7) + s1
    }
    let a = at(state, 0)
    let b = at(state, 1)
    let c = at(state, 2)
    let d = at(state, 3)
    let e = at(state, 4)
    let f = at(state, 5)
    let g = at(state, 6)
    let h = at(state, 7)
    for (let i = 0; i < 64; i++) {
      const s1 = rotr(e, 6) ^ rotr(e, 11) ^ rotr(e, 25)
      const t1 = (h + s1 + ((e & f) ^ (~e & g)) + at(roundConstants, i) + at(w, i)) | 0
      const s0 = rotr(a, 2) ^ rotr(a, 13) ^ rotr(a, 22)
      const t2 = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0
      h = g
      g = f
      f = e
      e = (d + t1) | 0
      d = c
      c = b
      b = a
      a = (t1 + t2) | 0
    }
    state[0] = at(state, 0) + a
    state[1] = at(state, 1) + b
    state[2] = at(state, 2) + c
    state[3] = at(state, 3) + d
    state[4] = at(state, 4) + e
    state[5] = at(state, 5) + f
    state[6] = at(state, 6) + g
    state[7] = at(state, 7) + h
  }
  let hex = ""
  for (const word of state) hex += word.toString(16).padStart(8, "0")
  return hex
}
