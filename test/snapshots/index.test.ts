import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import { decode, delta, type Entry, type Index, whole } from "../../src/snapshots/Index.ts"
import { pathOfRepository, quoted, repositoryPath } from "../../src/snapshots/Manifest.ts"
import { idOf, refOf, snapshotsOf, subjectOf } from "../../src/snapshots/Refs.ts"

const entry: FastCheck.Arbitrary<Entry> = FastCheck.record({
  kind: FastCheck.constantFrom("file", "link", "directory"),
  size: FastCheck.nat(),
  mtime: FastCheck.double({ noNaN: true, min: 0, max: 2e12 }),
  ctime: FastCheck.double({ noNaN: true, min: 0, max: 2e12 }),
  ino: FastCheck.nat(),
  mode: FastCheck.nat({ max: 0o7777 }),
  oid: FastCheck.constantFrom("", "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"),
  ignored: FastCheck.boolean(),
  racy: FastCheck.boolean()
})

/** Bytes, one character each. */
const name = FastCheck.array(FastCheck.nat({ max: 254 }), { minLength: 1, maxLength: 6 }).map((codes) =>
  String.fromCharCode(...codes.map((code) => code + 1)).replaceAll("/", "_")
)

const index: FastCheck.Arbitrary<Index> = FastCheck.record({
  snapshot_id: name,
  tree: FastCheck.constant("4b825dc642cb6eb9a060e54bf8d69288fbee4904"),
  entries: FastCheck.array(FastCheck.tuple(name, entry), { maxLength: 8 }).map((all) => new Map(all)),
  left: FastCheck.array(name, { maxLength: 3 }).map((all) =>
    new Map(all.map((path) => [path, { path, reason: "size" as const, size: 3 }]))
  ),
  nested: FastCheck.array(name, { maxLength: 2 }),
  extra: FastCheck.array(name, { maxLength: 2 }).map((all) => new Set(all)),
  tracked: FastCheck.array(name, { maxLength: 2 }).map((all) => new Set(all)),
  sources: name,
  project_index: name
})

const changesOf = (one: Index, two: Index) =>
  delta(
    two,
    [...two.entries.keys()],
    [...one.entries.keys()].filter((path) => !two.entries.has(path))
  ).text(two.tree)

describe("the index file", () => {
  it.prop("what was written is read, with what was put behind it", { one: index, two: index }, ({ one, two }) => {
    const text = whole(one).text(one.tree)
    assert.deepStrictEqual(decode(text), { index: one, intact: true })
    assert.deepStrictEqual(decode(text + changesOf(one, two)), { index: two, intact: true })
  })

  it.prop(
    "a line that was cut off is none, and nothing is put behind it",
    { one: index, two: index, cut: FastCheck.double({ noNaN: true, min: 0, max: 0.999 }) },
    ({ cut, one, two }) => {
      const text = whole(one).text(one.tree)
      const more = changesOf(one, two)
      const part = more.slice(0, Math.floor(more.length * cut))
      assert.deepStrictEqual(decode(text + part), { index: one, intact: part === "" })
      assert.strictEqual(decode(text.slice(0, -2)), null)
    }
  )

  it("what is no index is none", () => {
    for (const text of ["", "\n", "{}\n", "[]", "{\"v\":2}\n", "\0"]) assert.isNull(decode(text))
  })
})

describe("names in the repository of the snapshots", () => {
  it.prop("no path has a part that git takes for its own, and every one comes back", [FastCheck.array(
    FastCheck.oneof(
      name,
      FastCheck.constantFrom(".git", ".GIT", "git~1", "%", "%.git", ".gitmodules", ".git ", ".g\u200cit")
    ),
    { minLength: 1, maxLength: 4 }
  )], ([parts]) => {
    const path = parts.join("/")
    const kept = repositoryPath(path)
    assert.strictEqual(pathOfRepository(kept), path)
    for (const part of kept.split("/")) assert.notMatch(part, /^(?:\.git|git~)/i)
    assert.match(quoted(kept), /^"[ -~]*"$/)
  })

  it("snapshots are listed by time; what is none is passed over", () => {
    const snapshot = (n: number) => ({
      id: idOf(n, n, n),
      session_id: "ses_ü\n",
      key: n === 0 ? null : `user:${n}`,
      kind: "before" as const,
      at: n,
      changed: n
    })
    const [a, b, c] = [snapshot(0), snapshot(10), snapshot(9)]
    assert.deepStrictEqual(snapshotsOf([a, b, c].map(subjectOf).join("\n") + "\nno JSON\n{}\n"), [a, c, b])
    assert.match(refOf("../a b.lock", a.id), /^refs\/snapshots\/[A-Za-z0-9%_-]+\/[0-9a-f-]+$/)
  })
})
