/** Random trees, random edits, random shell changes: what comes back is what was there, byte for byte. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as fs from "node:fs"
import * as path from "node:path"
import { Snapshots } from "../../src/snapshots/Snapshots.ts"
import { picture, type Place, place } from "./support.ts"

const names = [
  "a",
  "b.txt",
  "c.log",
  "d",
  "ü ñ",
  "-x",
  "#y",
  ".hidden",
  "\u0001z",
  "d/e",
  "d/f/g",
  "d/h.txt",
  "i/j",
  "i/k.log",
  "out/l"
]

type Change =
  | { readonly kind: "write"; readonly name: string; readonly content: Uint8Array; readonly mode: number }
  | { readonly kind: "link"; readonly name: string; readonly target: string }
  | { readonly kind: "folder"; readonly name: string; readonly mode: number }
  | { readonly kind: "remove"; readonly name: string }
  | { readonly kind: "mode"; readonly name: string; readonly mode: number }
  | { readonly kind: "shell"; readonly line: string }

const name = FastCheck.constantFrom(...names)
const mode = FastCheck.constantFrom(0o644, 0o600, 0o755, 0o700, 0o444, 0o4755)
const content = FastCheck.oneof(
  FastCheck.uint8Array({ maxLength: 40 }),
  FastCheck.constantFrom("one\r\ntwo\n", "\r\n", "a\n", "$Id$\n").map((text) => new TextEncoder().encode(text))
)
const change: FastCheck.Arbitrary<Change> = FastCheck.oneof(
  { weight: 5, arbitrary: FastCheck.record({ kind: FastCheck.constant("write" as const), name, content, mode }) },
  FastCheck.record({
    kind: FastCheck.constant("link" as const),
    name,
    target: FastCheck.constantFrom("a", "d", "..", "/etc", "not there")
  }),
  FastCheck.record({ kind: FastCheck.constant("folder" as const), name, mode: FastCheck.constantFrom(0o755, 0o700) }),
  FastCheck.record({ kind: FastCheck.constant("remove" as const), name }),
  FastCheck.record({ kind: FastCheck.constant("mode" as const), name, mode }),
  FastCheck.record({
    kind: FastCheck.constant("shell" as const),
    line: FastCheck.constantFrom(
      "for f in *; do mv -- \"$f\" \"$f.moved\"; break; done",
      "rm -rf d; mkdir -p d/f; echo shell > d/f/g",
      "cp -rP d copy",
      "chmod -R g-rwx i",
      "mv i out",
      "find . -name .git -prune -o -type f -exec sh -c 'echo more >> \"$1\"' _ {} ';'",
      "ln a hard"
    )
  })
)

const apply = (at: Place, one: Change): void => {
  try {
    switch (one.kind) {
      case "write":
        fs.mkdirSync(path.dirname(at.at(one.name)), { recursive: true })
        fs.writeFileSync(at.at(one.name), one.content)
        return fs.chmodSync(at.at(one.name), one.mode)
      case "link":
        fs.mkdirSync(path.dirname(at.at(one.name)), { recursive: true })
        fs.rmSync(at.at(one.name), { recursive: true, force: true })
        return fs.symlinkSync(one.target, at.at(one.name))
      case "folder":
        fs.mkdirSync(at.at(one.name), { recursive: true })
        return fs.chmodSync(at.at(one.name), one.mode)
      case "remove":
        return fs.rmSync(at.at(one.name), { recursive: true, force: true })
      case "mode":
        if (!fs.lstatSync(at.at(one.name)).isSymbolicLink()) fs.chmodSync(at.at(one.name), one.mode)
        return
      case "shell":
        return void at.sh(`${one.line} 2>/dev/null || true`)
    }
  } catch {
    // what cannot be done there changes nothing
  }
}

/** Nothing outside of the tree may be written by a change that goes through a link. */
const inside = (changes: ReadonlyArray<Change>): ReadonlyArray<Change> =>
  changes.filter((one) => one.kind !== "link" || one.target !== "/etc" || one.name === "a")

const prepare: Readonly<Record<string, (at: Place) => void>> = {
  "outside of any repository": () => undefined,
  "in a repository with a dirty index, rules, attributes and filters": (at) => {
    at.sh(
      "git init -q -b main; git config core.autocrlf true; git config filter.f.clean 'tr a b'; git config filter.f.smudge false"
    )
    at.write(".gitignore", "*.log\n/out/\n")
    at.write(".gitattributes", "*.txt text eol=crlf ident\na filter=f\n")
    at.write("b.txt", "committed\n")
    at.sh("git add -A && git commit -qm one")
    at.write("b.txt", "staged\n")
    at.sh("git add b.txt")
  },
  "in a repository with a submodule and a nested repository": (at) => {
    at.sh("git init -q -b main sub && cd sub && echo s > s && git add -A && git commit -qm s", at.base)
    at.sh(
      `git init -q -b main && git -c protocol.file.allow=always submodule add -q ${at.base}/sub d && git commit -qm d`
    )
    at.sh("git init -q i && cd i && echo j > j && git add -A && git commit -qm j")
  },
  "in a linked worktree": (at) => {
    at.sh(
      "git init -q -b main main && cd main && echo a > a && echo '*.log' > .gitignore && git add -A && git commit -qm a",
      at.base
    )
    fs.rmdirSync(at.root)
    at.sh(`git worktree add -q ${at.root}`, `${at.base}/main`)
  }
}

/** A repository that is moved or copied stays where it is: what is in its `.git` is nobody's to move. */
const moves = (one: Change): boolean => one.kind === "shell" && /\b(?:mv|cp) /.test(one.line)

const changes = FastCheck.array(change, { maxLength: 8 }).map(inside)

describe("rewinding is exact", () => {
  for (const [where, begin] of Object.entries(prepare)) {
    it.effect.prop(
      where,
      { first: changes, second: changes, third: changes },
      (random) =>
        Effect.scoped(Effect.gen(function*() {
          const at = yield* place
          begin(at)
          const [first, second, third] = [random.first, random.second, random.third].map((some) =>
            where.includes("nested") ? some.filter((one) => !moves(one)) : some
          ) as [ReadonlyArray<Change>, ReadonlyArray<Change>, ReadonlyArray<Change>]
          yield* Effect.provide(
            Effect.gen(function*() {
              const snapshots = yield* Snapshots
              const take = (kind: "before" | "after", since?: string) =>
                Effect.map(
                  snapshots.take({ session_id: "s", key: "k", kind, ...(since === undefined ? {} : { since }) }),
                  ({ snapshot }) => snapshot.id
                )
              const back = (snapshot_id: string) =>
                Effect.flatMap(snapshots.plan({ session_id: "s", snapshot_id, key: null }), (plan) => plan.apply)
              const step = (some: ReadonlyArray<Change>) =>
                Effect.gen(function*() {
                  const was = picture(at.root)
                  const before = yield* take("before")
                  for (const one of some) apply(at, one)
                  yield* take("after", before)
                  return { was, before }
                })
              for (const one of first) apply(at, one)
              const one = yield* step(second)
              const two = yield* step(third)
              const end = picture(at.root)
              assert.deepStrictEqual((yield* back(two.before)).failed, [])
              assert.deepStrictEqual(picture(at.root), two.was)
              assert.deepStrictEqual((yield* back(one.before)).failed, [])
              assert.deepStrictEqual(picture(at.root), one.was)
              const present = (yield* snapshots.list("s")).find(({ kind }) => kind === "present")
              assert.deepStrictEqual((yield* back(present?.id ?? "")).failed, [])
              assert.deepStrictEqual(picture(at.root), end)
            }),
            at.layer()
          )
        })),
      { fastCheck: { numRuns: 4 } }
    )
  }
})
