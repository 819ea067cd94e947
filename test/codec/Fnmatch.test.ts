import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import { spawnSync } from "node:child_process"
import { compile, fnmatchcase } from "../../src/codec/Fnmatch.ts"

const python = (pairs: ReadonlyArray<readonly [string, string]>): ReadonlyArray<boolean> => {
  const script = [
    "import fnmatch, json, sys",
    "pairs = json.load(sys.stdin)",
    "sys.stdout.write(''.join('1' if fnmatch.fnmatchcase(name, pattern) else '0' for pattern, name in pairs))"
  ].join("\n")
  const run = spawnSync("python3", ["-W", "ignore", "-c", script], {
    input: JSON.stringify(pairs),
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024
  })
  assert.strictEqual(run.status, 0, run.stderr)
  return [...run.stdout].map((bit) => bit === "1")
}

/** A small alphabet, so that random names have a chance; the last ones are outside the basic plane, or half a pair. */
const letters = [
  "a",
  "b",
  "c",
  "-",
  "!",
  "^",
  "]",
  "[",
  "\\",
  ".",
  "/",
  "\n",
  "_",
  "é",
  "👍",
  "👎",
  "\ud83d",
  "&",
  "|",
  "~"
]
const name = FastCheck.array(FastCheck.constantFrom(...letters), { maxLength: 6 }).map((parts) => parts.join(""))
const pattern = FastCheck.array(
  FastCheck.oneof(
    { weight: 3, arbitrary: FastCheck.constantFrom(...letters) },
    { weight: 2, arbitrary: FastCheck.constantFrom("*", "?", "*", "**") },
    {
      weight: 3,
      arbitrary: FastCheck.array(FastCheck.constantFrom(...letters, "-", "-", "z", "0"), { maxLength: 6 }).map((
        parts
      ) => `[${parts.join("")}]`)
    }
  ),
  { maxLength: 5 }
).map((parts) => parts.join(""))

describe("Fnmatch", () => {
  it("7.3: agrees with Python on 20,000 random pairs", () => {
    const random = FastCheck.sample(FastCheck.tuple(pattern, name), { numRuns: 16_000, seed: 301 })
    // Names made from the pattern itself match far more often.
    const near = FastCheck.sample(FastCheck.tuple(pattern, name, FastCheck.constantFrom(...letters)), {
      numRuns: 4000,
      seed: 302
    }).map(([glob, run, one]) =>
      [glob, glob.replaceAll("*", run).replaceAll("?", one).replace(/\[[^\]]+\]/g, one)] as const
    )
    const pairs: ReadonlyArray<readonly [string, string]> = [...random, ...near]
    const expected = python(pairs)
    assert.strictEqual(expected.length, 20_000)
    assert.isAbove(expected.filter((hit) => hit).length, 1000)
    pairs.forEach(([glob, text], i) => {
      assert.strictEqual(compile(glob)(text), expected[i], JSON.stringify({ pattern: glob, name: text }))
    })
  }, 120_000)

  it("7.3: the forms that path globs read otherwise", () => {
    const table: ReadonlyArray<readonly [string, string, boolean]> = [
      ["*", "a/b", true],
      ["*", ".hidden", true],
      ["*", "", true],
      ["*", "a\nb", true],
      ["mcp__fs__*", "mcp__fs__a/b", true],
      ["mcp__[!g]*", "mcp__fs__x", true],
      ["mcp__[^g]*", "mcp__fs__x", false],
      ["mcp__[^g]*", "mcp__^x", true],
      ["{fs,git}.*", "fs.read", false],
      ["{fs,git}.*", "{fs,git}.read", true],
      ["!fs.write", "fs.read", false],
      ["@(fs|git).read", "fs.read", false],
      ["fs.?", "fs.👍", true],
      ["fs.??", "fs.👍", false],
      ["Bash(git *)", "Bash(git push origin/main)", true],
      ["a\\*", "a*", false],
      ["a\\*", "a\\b", true],
      ["", "", true],
      ["", "a", false],
      ["#x", "#x", true],
      ["[]]", "]", true],
      ["[!]]", "]", false],
      ["[!]]", "a", true],
      ["[z-a]", "z", false],
      ["[!z-a]", "z", true],
      ["[", "[", true],
      ["a[bc", "a[bc", true],
      ["[a-c]?", "b!", true],
      ["[👍-👏]", "👎", true],
      ["Read", "read", false],
      ["a*a*b", "aaab", true],
      ["*.ts", "a.ts.ts", true],
      ["a*", "b", false]
    ]
    for (const [glob, text, expected] of table) {
      assert.strictEqual(fnmatchcase(text, glob), expected, `${glob} / ${text}`)
    }
  })

  it("7.3: half of a surrogate pair is no prefix of the pair", () => {
    assert.isFalse(fnmatchcase("👍", "\ud83d*"))
    assert.isTrue(fnmatchcase("\ud83dx", "\ud83d*"))
    assert.isFalse(fnmatchcase("👍x", "\ud83d?x"))
  })

  it("7.3: worst case is pattern times name", () => {
    const glob = compile("*a".repeat(400) + "*b")
    const text = "a".repeat(20_000)
    const start = performance.now()
    assert.isFalse(glob(text))
    assert.isTrue(glob(text + "b"))
    // 400 x 20,000 steps twice are some tens of milliseconds; trying all splits would not end.
    assert.isBelow(performance.now() - start, 20_000)
  })
})
