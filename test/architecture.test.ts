import * as fs from "node:fs"
import * as path from "node:path"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "vitest"

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..")

const sources = (dir: string): ReadonlyArray<string> =>
  fs.readdirSync(dir, { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory()
      ? sources(path.join(dir, entry.name))
      : entry.name.endsWith(".ts")
      ? [path.join(dir, entry.name)]
      : []
  )

const files = sources(path.join(root, "src")).map((file) => ({
  room: path.relative(path.join(root, "src"), file).split(path.sep)[0] ?? "",
  name: path.relative(root, file),
  text: fs.readFileSync(file, "utf8")
}))

describe("architecture", () => {
  it("a Tag's id is its room and its name, and no two Tags share one (section 2)", () => {
    const seen = new Map<string, string>()
    let tags = 0
    for (const { name, room, text } of files) {
      for (const match of text.matchAll(/class (\w+)\s+extends Context\.Tag\(\s*"([^"]+)"/g)) {
        tags++
        const [, className, id] = match
        assert.strictEqual(id, `@hanzo/dev/${room}/${className}`, name)
        assert.isFalse(seen.has(id ?? ""), `${id} stands in ${seen.get(id ?? "")} and ${name}`)
        seen.set(id ?? "", name)
      }
    }
    assert.isAbove(tags, 20)
  })

  it("an error's identifier names its room", () => {
    for (const { name, room, text } of files) {
      for (const match of text.matchAll(/TaggedError<\w+>\("(@hanzo\/dev\/[^"]+)"\)/g)) {
        assert.isTrue(match[1]?.startsWith(`@hanzo/dev/${room}/`), `${name}: ${match[1]}`)
      }
    }
  })

  it("no Layer is a function without parameters: it would be built twice", () => {
    for (const { name, text } of files) {
      for (const match of text.matchAll(/(?:export const|static readonly) (layer\w*)\s*=\s*\(\)\s*[:=]/g)) {
        assert.fail(`${name}: ${match[1]} takes no parameters, make it a constant`)
      }
    }
  })

  it("every room of the sources has its entry in the table of floors, and in the lint rules", () => {
    const docs = fs.readFileSync(path.join(root, "docs/architecture.md"), "utf8")
    const lint = fs.readFileSync(path.join(root, ".oxlintrc.json"), "utf8")
    for (const room of new Set(files.map((file) => file.room).filter((room) => !room.endsWith(".ts")))) {
      assert.include(docs, `\`${room}\``)
      assert.include(lint, `src/${room}/**/*.ts`)
    }
  })

  it("nothing in the library runs promises inside or reads the clock of the machine", () => {
    for (const { name, room, text } of files) {
      if (room === "platform" || room === "main.ts") continue
      assert.notMatch(text, /\bEffect\.run(Promise|Sync|Fork)\(/, name)
      assert.notMatch(text, /\bDate\.now\(|\bMath\.random\(|\bprocess\.env\b/, name)
    }
  })
})
