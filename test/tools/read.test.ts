import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as fc from "effect/FastCheck"
import * as childProcess from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import * as zlib from "node:zlib"
import { decode, encode, isText, lineAt, lineEndings, linesOf } from "../../src/tools/edit/Text.ts"
import { page } from "../../src/tools/Read.ts"
import { failing, world } from "./workspace.ts"

const bytes = (...values: ReadonlyArray<number>): Uint8Array => new Uint8Array(values)
const ascii = (text: string): Array<number> => Array.from(text, (char) => char.charCodeAt(0))

const png = (width: number, height: number): Uint8Array => {
  const chunk = (type: string, data: Buffer): Buffer => {
    const body = Buffer.concat([Buffer.from(type), data])
    const length = Buffer.alloc(4)
    length.writeUInt32BE(data.length)
    const crc = Buffer.alloc(4)
    crc.writeUInt32BE(crc32(body))
    return Buffer.concat([length, body, crc])
  }
  const head = Buffer.alloc(13)
  head.writeUInt32BE(width, 0)
  head.writeUInt32BE(height, 4)
  head.set([8, 0, 0, 0, 0], 8)
  const rows = zlib.deflateSync(Buffer.alloc((width + 1) * height))
  return Buffer.concat([
    Buffer.from("\x89PNG\r\n\x1a\n", "latin1"),
    chunk("IHDR", head),
    chunk("IDAT", rows),
    chunk("IEND", Buffer.alloc(0))
  ])
}
const crc32 = (data: Uint8Array): number => {
  let crc = ~0
  for (const byte of data) {
    crc ^= byte
    for (let i = 0; i < 8; i++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0)
  }
  return ~crc >>> 0
}

describe("text and bytes", () => {
  it("round trip: what decodes as text encodes to the same bytes", () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.uint8Array({ maxLength: 200 }),
          fc.string({ unit: "binary" }).map((s) => new TextEncoder().encode(s))
        ),
        fc.constantFrom([], [0xef, 0xbb, 0xbf], [0xff, 0xfe], [0xfe, 0xff]),
        (body, mark) => {
          const all = new Uint8Array([...mark, ...body])
          const text = decode(all)
          if (!isText(text)) return true
          const back = encode(text)
          return back !== undefined && Buffer.compare(back, all) === 0
        }
      ),
      { numRuns: 300 }
    )
  })

  it("tells encodings", () => {
    const of = (data: Uint8Array) => {
      const text = decode(data)
      return isText(text) ? [text.text, text.encoding, text.bom] : text.media_type
    }
    assert.deepStrictEqual(of(bytes(...ascii("a"))), ["a", "utf-8", false])
    assert.deepStrictEqual(of(bytes(0xef, 0xbb, 0xbf, 97)), ["a", "utf-8", true])
    assert.deepStrictEqual(of(bytes(0xff, 0xfe, 97, 0, 0x3d, 0xd8, 0, 0xde)), ["a😀", "utf-16le", true])
    assert.deepStrictEqual(of(bytes(0xfe, 0xff, 0, 97)), ["a", "utf-16be", true])
    assert.deepStrictEqual(of(bytes(...ascii("caf"), 0xe9)), ["café", "latin1", false])
    assert.strictEqual(of(bytes(97, 0, 98)), "application/octet-stream")
    assert.strictEqual(of(bytes(0x7f, ...ascii("ELF"), 1, 1)), "application/x-elf")
    assert.strictEqual(of(bytes(...ascii("%PDF-1.7\n"))), "application/pdf")
    assert.deepStrictEqual(of(bytes(...ascii("BM is a prefix"))), ["BM is a prefix", "utf-8", false])
    assert.deepStrictEqual(of(bytes(...ascii("MZ BZh ID3"))), ["MZ BZh ID3", "utf-8", false])
  })

  it("lines", () => {
    assert.deepStrictEqual(linesOf(""), [])
    assert.deepStrictEqual(linesOf("a\n"), ["a"])
    assert.deepStrictEqual(linesOf("a\r\n\nb\rc"), ["a", "", "b\rc"])
    assert.strictEqual(lineEndings("a"), "none")
    assert.strictEqual(lineEndings("a\r\nb\n"), "mixed")
    assert.strictEqual(lineEndings("\r\n"), "crlf")
    assert.strictEqual(lineAt("a\nb\nc", 2), 2)
    assert.strictEqual(lineAt("a\nb\nc", 1), 1)
  })

  it("pages cover every line once, in order", () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ maxLength: 30 }), { minLength: 1, maxLength: 60 }),
        fc.integer({ min: 1, max: 9 }),
        (lines, limit) => {
          const numbers: Array<number> = []
          for (let at = 1; at <= lines.length;) {
            const one = page(lines, at, limit)
            for (let n = one.first; n <= one.last; n++) numbers.push(n)
            at = one.last + 1
          }
          return numbers.length === lines.length && numbers.every((n, i) => n === i + 1)
        }
      )
    )
    const huge = page(Array.from({ length: 500 }, () => "é".repeat(1500)), 1, 2000)
    assert.isBelow(huge.last, 100)
    assert.isAbove(huge.last, 10)
  })
})

describe("read", () => {
  it.scoped("numbers lines, pages by offset and limit, says what follows", () =>
    Effect.gen(function*() {
      const { call, put } = yield* world()
      put("f.txt", "one\ntwo\nthree\n")
      assert.strictEqual((yield* call("read", { path: "f.txt" })).output, "     1\tone\n     2\ttwo\n     3\tthree")
      assert.strictEqual(
        (yield* call("read", { path: "f.txt", offset: 2, limit: 1 })).output,
        "     2\ttwo\n[lines 2-2 of 3; go on with offset 3]"
      )
      assert.strictEqual(
        (yield* call("read", { path: "f.txt", offset: 3 })).output,
        "     3\tthree\n[lines 3-3 of 3; end of file]"
      )
      assert.strictEqual(
        (yield* call("read", { path: "f.txt", offset: 0, limit: 1 })).output.slice(0, 10),
        "     1\tone"
      )
      assert.match(yield* failing(call("read", { path: "f.txt", offset: 4 })), /has 3 lines; offset 4 is beyond/u)
      put("long.txt", "x\n".repeat(5000))
      assert.match(
        (yield* call("read", { path: "long.txt" })).output,
        /\[lines 1-2000 of 5000; go on with offset 2001\]$/u
      )
    }))

  it.scoped("cuts long lines at characters, tells missing line breaks, CRLF, marks and encodings", () =>
    Effect.gen(function*() {
      const { call, put } = yield* world()
      put("long", `${"y".repeat(1999)}😀😀\nend`)
      const { output } = yield* call("read", { path: "long" })
      assert.include(output, `${"y".repeat(1999)}… [line cut: 2003 characters]`)
      assert.match(output, /\[no line break at the end of the file\]$/u)
      put("crlf", "a\r\nb\r\n")
      assert.strictEqual((yield* call("read", { path: "crlf" })).output, "     1\ta\n     2\tb\n[CRLF line endings]")
      put("bom", "\uFEFFa\n")
      assert.strictEqual((yield* call("read", { path: "bom" })).output, "     1\ta\n[byte order mark]")
      put("utf16", Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from("wide ü\n", "utf16le")]))
      assert.strictEqual((yield* call("read", { path: "utf16" })).output, "     1\twide ü\n[UTF-16LE]")
      put("old", Buffer.from("Gr\xfc\xdfe\n", "latin1"))
      assert.match((yield* call("read", { path: "old" })).output, /1\tGrüße\n\[8-bit text that is not UTF-8/u)
      put("empty", "")
      assert.strictEqual((yield* call("read", { path: "empty" })).output, "(empty is empty: 0 bytes)")
    }))

  it.scoped("images come as parts with their size; binary files are named; large ones refused", () =>
    Effect.gen(function*() {
      const { call, put } = yield* world()
      const image = png(40, 30)
      put("p.png", image)
      const shown = yield* call("read", { path: "p.png" })
      assert.strictEqual(shown.output, `p.png: PNG image, 40x30 pixels, ${image.length} bytes`)
      assert.deepStrictEqual(shown.parts, [
        { type: "image", media_type: "image/png", data: Buffer.from(image).toString("base64") }
      ])
      const gif = bytes(...ascii("GIF89a"), 16, 1, 2, 0, 0, 0, 0)
      put("g.gif", gif)
      assert.include((yield* call("read", { path: "g.gif" })).output, "GIF image, 272x2 pixels")
      const jpeg = bytes(
        0xff,
        0xd8,
        0xff,
        0xe0,
        0,
        4,
        1,
        1,
        0xff,
        0xc0,
        0,
        11,
        8,
        0,
        100,
        1,
        44,
        1,
        1,
        17,
        0,
        0xff,
        0xd9
      )
      put("j.jpg", jpeg)
      assert.include((yield* call("read", { path: "j.jpg" })).output, "JPEG image, 300x100 pixels")
      const webp = bytes(
        ...ascii("RIFF"),
        0,
        0,
        0,
        0,
        ...ascii("WEBPVP8X"),
        10,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        99,
        0,
        0,
        49,
        0,
        0
      )
      put("w.webp", webp)
      const from_webp = yield* call("read", { path: "w.webp" })
      assert.include(from_webp.output, "WebP image, 100x50 pixels")
      assert.strictEqual(from_webp.parts?.[0]?.type, "image")
      put("big.png", Buffer.concat([image, Buffer.alloc(4_000_000)]))
      assert.match(yield* failing(call("read", { path: "big.png" })), /40x30 pixels, 3\.8 MiB: more than/u)
      put("prog", bytes(0x7f, ...ascii("ELF"), 0, 0))
      assert.match(yield* failing(call("read", { path: "prog" })), /ELF program or library .*6 bytes/u)
      put("blob", bytes(1, 0, 2))
      assert.match(yield* failing(call("read", { path: "blob" })), /is not text: binary data .*3 bytes/u)
      fs.truncateSync(put("huge", "x"), 65 * 1024 * 1024)
      assert.match(yield* failing(call("read", { path: "huge" })), /it has 65\.0 MiB, the limit is 64\.0 MiB.*grep/u)
    }))

  it.scoped("directories, missing files and pipes are answered with what helps", () =>
    Effect.gen(function*() {
      const { base, call, put, root } = yield* world()
      put("src/main.ts", "x")
      put("src/deep/x.ts", "x")
      fs.symlinkSync("main.ts", path.join(root, "src", "link"))
      const listed = yield* failing(call("read", { path: "src" }))
      assert.include(listed, "src is a directory. Its entries:\n  deep/\n  link@\n  main.ts\n")
      assert.include(yield* failing(call("read", { path: "src/mian.ts" })), "Did you mean src/main.ts?")
      assert.include(
        yield* failing(call("read", { path: "scr/main.ts" })),
        "there is no scr in the working directory. Did you mean src/?"
      )
      assert.include(yield* failing(call("read", { path: "zzzzzz" })), "zzzzzz does not exist. Use glob to find it.")
      childProcess.execFileSync("bash", ["-c", "mkfifo \"$0\"", path.join(root, "pipe")])
      assert.match(yield* failing(call("read", { path: "pipe" })), /not a regular file/u)
      assert.match(yield* failing(call("read", { path: "" })), /path is empty/u)
      assert.match(yield* failing(call("read", { path: "a", limit: 0 })), /limit/u)
      fs.writeFileSync(path.join(base, "outside"), "o\n")
      const prepared = yield* (yield* world()).tool("read").prepare({ path: path.join(base, "outside") })
      assert.deepStrictEqual([prepared.subjects, prepared.inside_workspace], [[path.join(base, "outside")], false])
    }))

  it.scoped("10.3: what was approved is what is read", () =>
    Effect.gen(function*() {
      const { base, put, root, tool } = yield* world()
      put("dir/f", "mine")
      fs.mkdirSync(path.join(base, "other"))
      fs.writeFileSync(path.join(base, "other", "f"), "secret")
      const prepared = yield* tool("read").prepare({ path: "dir/f" })
      assert.deepStrictEqual([prepared.subjects, prepared.inside_workspace], [["dir/f"], true])
      fs.renameSync(path.join(root, "dir"), path.join(root, "gone"))
      fs.symlinkSync(path.join(base, "other"), path.join(root, "dir"))
      const message = yield* failing(prepared.run({ session_id: "s", call_id: "c", emit: () => Effect.void }))
      assert.match(message, /leads to .*other\/f now/u)
      assert.notInclude(message, "secret")
    }))
})
