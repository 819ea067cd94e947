/**
 * Bytes of a file as text and back, without loss: encoding, byte order mark and line endings are remembered.
 *
 * @since 0.1.0
 */

/** `latin1` stands for any 8-bit text that is not UTF-8: every byte is one character, so nothing is lost. */
type TextEncodingName = "utf-8" | "utf-16le" | "utf-16be" | "latin1"

/** @since 0.1.0 @category models */
export interface TextFile {
  /** Without the byte order mark; line endings as in the file. */
  readonly text: string
  readonly encoding: TextEncodingName
  readonly bom: boolean
}

/** `media_type` is a MIME type, `name` what a person would call it. @since 0.1.0 @category models */
export interface BinaryKind {
  readonly media_type: string
  readonly name: string
  /** Told by a few printable characters only, with which a text may begin as well. */
  readonly weak: boolean
}

const ascii = (bytes: Uint8Array, from: number, to: number): string =>
  String.fromCharCode(...bytes.subarray(from, Math.min(to, bytes.length)))

const magic: ReadonlyArray<readonly [offset: number, bytes: string, kind: Omit<BinaryKind, "weak">]> = [
  [0, "\x89PNG\r\n\x1a\n", { media_type: "image/png", name: "PNG image" }],
  [0, "\xff\xd8\xff", { media_type: "image/jpeg", name: "JPEG image" }],
  [0, "GIF87a", { media_type: "image/gif", name: "GIF image" }],
  [0, "GIF89a", { media_type: "image/gif", name: "GIF image" }],
  [8, "WEBP", { media_type: "image/webp", name: "WebP image" }],
  [0, "%PDF-", { media_type: "application/pdf", name: "PDF document" }],
  [0, "PK\x03\x04", { media_type: "application/zip", name: "ZIP archive (or a document made of one)" }],
  [0, "\x1f\x8b", { media_type: "application/gzip", name: "gzip data" }],
  [0, "BZh", { media_type: "application/x-bzip2", name: "bzip2 data" }],
  [0, "\xfd7zXZ\0", { media_type: "application/x-xz", name: "xz data" }],
  [0, "\x28\xb5\x2f\xfd", { media_type: "application/zstd", name: "Zstandard data" }],
  [0, "7z\xbc\xaf\x27\x1c", { media_type: "application/x-7z-compressed", name: "7z archive" }],
  [257, "ustar", { media_type: "application/x-tar", name: "tar archive" }],
  [0, "\x7fELF", { media_type: "application/x-elf", name: "ELF program or library" }],
  [0, "MZ", { media_type: "application/vnd.microsoft.portable-executable", name: "Windows program or library" }],
  [0, "\xcf\xfa\xed\xfe", { media_type: "application/x-mach-binary", name: "Mach-O program or library" }],
  [0, "\xca\xfe\xba\xbe", { media_type: "application/java-vm", name: "Java class or Mach-O program" }],
  [0, "\0asm", { media_type: "application/wasm", name: "WebAssembly module" }],
  [0, "SQLite format 3\0", { media_type: "application/vnd.sqlite3", name: "SQLite database" }],
  [0, "OggS", { media_type: "audio/ogg", name: "Ogg media" }],
  [0, "ID3", { media_type: "audio/mpeg", name: "MP3 audio" }],
  [0, "fLaC", { media_type: "audio/flac", name: "FLAC audio" }],
  [4, "ftyp", { media_type: "video/mp4", name: "MP4 or HEIF media" }],
  [8, "WAVE", { media_type: "audio/wav", name: "WAV audio" }],
  [0, "BM", { media_type: "image/bmp", name: "BMP image" }],
  [0, "II*\0", { media_type: "image/tiff", name: "TIFF image" }],
  [0, "MM\0*", { media_type: "image/tiff", name: "TIFF image" }],
  [0, "\0\0\x01\0", { media_type: "image/x-icon", name: "icon" }],
  [0, "wOFF", { media_type: "font/woff", name: "WOFF font" }],
  [0, "wOF2", { media_type: "font/woff2", name: "WOFF2 font" }]
]

/** What the first bytes say, if they are those of a known binary format. @since 0.1.0 @category combinators */
export const sniff = (bytes: Uint8Array): BinaryKind | undefined => {
  const found = magic.find(([offset, mark, kind]) =>
    ascii(bytes, offset, offset + mark.length) === mark &&
    (kind.media_type !== "image/webp" && kind.media_type !== "audio/wav" || ascii(bytes, 0, 4) === "RIFF")
  )
  return found && { ...found[2], weak: /^[\x20-\x7e]{1,4}$/u.test(found[1]) }
}

/** What the protocols take as an image. @since 0.1.0 @category combinators */
export const isImage = (kind: BinaryKind): boolean =>
  kind.media_type === "image/png" || kind.media_type === "image/jpeg" || kind.media_type === "image/gif" ||
  kind.media_type === "image/webp"

const u16 = (b: Uint8Array, at: number): number => (b[at] ?? 0) | ((b[at + 1] ?? 0) << 8)
const u16be = (b: Uint8Array, at: number): number => ((b[at] ?? 0) << 8) | (b[at + 1] ?? 0)

/** Width and height in pixels, where the header of the image says so. @since 0.1.0 @category combinators */
export const imageSize = (
  bytes: Uint8Array,
  kind: BinaryKind
): { readonly width: number; readonly height: number } | undefined => {
  switch (kind.media_type) {
    case "image/png":
      return bytes.length < 24
        ? undefined
        : { width: u16be(bytes, 16) * 65_536 + u16be(bytes, 18), height: u16be(bytes, 20) * 65_536 + u16be(bytes, 22) }
    case "image/gif":
      return bytes.length < 10 ? undefined : { width: u16(bytes, 6), height: u16(bytes, 8) }
    case "image/webp": {
      const form = ascii(bytes, 12, 16)
      if (bytes.length < 30) return undefined
      if (form === "VP8 ") return { width: u16(bytes, 26) & 0x3fff, height: u16(bytes, 28) & 0x3fff }
      if (form === "VP8X") {
        return {
          width: 1 + (u16(bytes, 24) | ((bytes[26] ?? 0) << 16)),
          height: 1 + (u16(bytes, 27) | ((bytes[29] ?? 0) << 16))
        }
      }
      if (form !== "VP8L") return undefined
      const bits = u16(bytes, 21) + u16(bytes, 23) * 65_536
      return { width: 1 + bits % 0x4000, height: 1 + Math.floor(bits / 0x4000) % 0x4000 }
    }
    case "image/jpeg": {
      for (let at = 2; at + 9 < bytes.length && bytes[at] === 0xff;) {
        const marker = bytes[at + 1] ?? 0
        const frame = marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc
        if (frame) return { width: u16be(bytes, at + 7), height: u16be(bytes, at + 5) }
        at += marker === 0xff ? 1 : 2 + Math.max(2, u16be(bytes, at + 2))
      }
      return undefined
    }
    default:
      return undefined
  }
}

const fromLatin1 = (bytes: Uint8Array): string => {
  const parts: Array<string> = []
  for (let at = 0; at < bytes.length; at += 8192) parts.push(String.fromCharCode(...bytes.subarray(at, at + 8192)))
  return parts.join("")
}

const utf16 = (bytes: Uint8Array, big_endian: boolean): string => {
  const parts: Array<string> = []
  const read = big_endian ? u16be : u16
  for (let at = 0; at < bytes.length; at += 8192) {
    const end = Math.min(at + 8192, bytes.length)
    const units: Array<number> = []
    for (let i = at; i < end; i += 2) units.push(read(bytes, i))
    parts.push(String.fromCharCode(...units))
  }
  return parts.join("")
}

/** One line of unknown encoding: UTF-8, or else each byte one character. @since 0.1.0 @category decoding */
export const decodeLoosely = (bytes: Uint8Array): string => {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return fromLatin1(bytes)
  }
}

/**
 * The text of a file, or what kind of binary it is. Text is: UTF-16 with a byte order mark and whole code units; UTF-8
 * without NUL; other 8-bit text without NUL and with hardly any control characters.
 *
 * @since 0.1.0
 * @category decoding
 */
export const decode = (bytes: Uint8Array): TextFile | BinaryKind => {
  const even = bytes.length % 2 === 0
  if (bytes[0] === 0xff && bytes[1] === 0xfe && even && !(bytes[2] === 0 && bytes[3] === 0)) {
    return { text: utf16(bytes.subarray(2), false), encoding: "utf-16le", bom: true }
  }
  if (bytes[0] === 0xfe && bytes[1] === 0xff && even) {
    return { text: utf16(bytes.subarray(2), true), encoding: "utf-16be", bom: true }
  }
  const unknown: BinaryKind = { media_type: "application/octet-stream", name: "binary data", weak: false }
  const known = sniff(bytes)
  if (bytes.includes(0)) return known ?? unknown
  if (known !== undefined && !known.weak) return known
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes)
    return text.startsWith("\uFEFF")
      ? { text: text.slice(1), encoding: "utf-8", bom: true }
      : { text, encoding: "utf-8", bom: false }
  } catch {
    if (known !== undefined) return known
    let controls = 0
    for (const byte of bytes) if (byte < 32 && byte !== 9 && byte !== 10 && byte !== 13 && byte !== 12) controls++
    return controls > bytes.length / 100 ? unknown : { text: fromLatin1(bytes), encoding: "latin1", bom: false }
  }
}

/** @since 0.1.0 @category combinators */
export const isText = (file: TextFile | BinaryKind): file is TextFile => "text" in file

/**
 * Bytes of a text in a file's own encoding; undefined when it has characters which that encoding cannot say (`latin1`)
 * or lone surrogates (UTF-8).
 *
 * @since 0.1.0
 * @category encoding
 */
export const encode = (file: TextFile): Uint8Array | undefined => {
  const { text } = file
  switch (file.encoding) {
    case "utf-8":
      return text.isWellFormed() ?
        new TextEncoder().encode(file.bom ? "\uFEFF" + text : text)
        : undefined
    case "latin1": {
      const bytes = new Uint8Array(text.length)
      for (let i = 0; i < text.length; i++) {
        const unit = text.charCodeAt(i)
        if (unit > 0xff) return undefined
        bytes[i] = unit
      }
      return bytes
    }
    default: {
      const shift = file.bom ? 1 : 0
      const bytes = new Uint8Array((text.length + shift) * 2)
      const view = new DataView(bytes.buffer)
      const little = file.encoding === "utf-16le"
      if (file.bom) view.setUint16(0, 0xfeff, little)
      for (let i = 0; i < text.length; i++) view.setUint16((i + shift) * 2, text.charCodeAt(i), little)
      return bytes
    }
  }
}

/** How the lines of a text end; `none` = there is no line break. @since 0.1.0 @category models */
export type LineEndings = "lf" | "crlf" | "mixed" | "none"

/** @since 0.1.0 @category combinators */
export const lineEndings = (text: string): LineEndings => {
  let crlf = 0
  let lf = 0
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) {
    if (at > 0 && text.charCodeAt(at - 1) === 13) crlf++
    else lf++
  }
  return crlf > 0 ? (lf > 0 ? "mixed" : "crlf") : lf > 0 ? "lf" : "none"
}

/** Lines without their ends (LF or CRLF); a final line break does not begin another line. @since 0.1.0 @category combinators */
export const linesOf = (text: string): Array<string> => {
  if (text === "") return []
  const lines = text.split("\n")
  if (lines.at(-1) === "") lines.pop()
  return lines.map((line) => line.endsWith("\r") ? line.slice(0, -1) : line)
}

/** The number, from 1, of the line that holds the character at `index`. @since 0.1.0 @category combinators */
export const lineAt = (text: string, index: number): number => {
  let line = 1
  for (let at = text.indexOf("\n"); at !== -1 && at < index; at = text.indexOf("\n", at + 1)) line++
  return line
}

/** A long line for display, never cut inside a character. @since 0.1.0 @category combinators */
export const cutLine = (line: string, max: number): string => {
  if (line.length <= max) return line
  const unit = line.charCodeAt(max - 1)
  const end = unit >= 0xd800 && unit < 0xdc00 ? max - 1 : max
  return `${line.slice(0, end)}… [line cut: ${line.length} characters]`
}
