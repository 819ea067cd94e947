import { assert, describe, it } from "@effect/vitest"
import { analyse } from "../../src/permissions/Shell.ts"
import { makeParser } from "../../src/platform/ShellGrammar.ts"
import { runInBash, unseen } from "./realBash.ts"

const shell = await makeParser()

/** Numbers from a seed, so that a failure can be repeated. */
const chance = (seed: number) => {
  let state = seed
  const next = (): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
  const below = (n: number): number => Math.floor(next() * n)
  return { next, below, pick: <A>(from: readonly [A, ...ReadonlyArray<A>]): A => from[below(from.length)] ?? from[0] }
}

const tokens = [
  "ma",
  "mb",
  "mc x",
  "md y z",
  "ma",
  "mb",
  " ",
  " ",
  " ",
  ";",
  "&",
  "|",
  "&&",
  "||",
  "\n",
  "\n",
  "(",
  ")",
  "{ ",
  "; }",
  "'",
  "\"",
  "$(",
  ")",
  "`",
  "\\",
  "#",
  "<<E",
  "\nE\n",
  "<<'E'",
  "if ",
  "; then ",
  "; fi",
  "else ",
  "$x",
  "${x}",
  "${x:-",
  "}",
  ">f",
  "2>&1",
  ">&2",
  "<",
  "for i in ",
  "; do ",
  "; done",
  "while ",
  "case x in ",
  "x) ",
  ";;",
  " esac",
  "f(){ ",
  "f",
  "!",
  "[[ ",
  "]]",
  "[ ",
  "]",
  "((",
  "))",
  "$((",
  "=",
  "a=",
  "$'",
  "\t",
  "*",
  "?",
  "~",
  "{",
  "}",
  ",",
  "<(",
  ">(",
  "$",
  "time ",
  "coproc ",
  "function g ",
  "until ",
  "<<<",
  "<<-E",
  "\n\tE",
  "\\\n",
  "é",
  "-n",
  "@",
  "+"
] as const

/** Half of the lines are sentences of the language, some of them with a token too many; half are tokens in any order. */
const generate = (seed: number, count: number): ReadonlyArray<string> => {
  const { below, next, pick } = chance(seed)
  const marker = (): string => pick(["ma", "mb", "mc", "md"])
  const word = (depth: number): string =>
    pick<() => string>([
      () => "x",
      () => "'q w'",
      () => "\"a b\"",
      () => `"$(${command(depth - 1)})"`,
      () => `$(${list(depth - 1)})`,
      () => `\`${simple(depth - 1)}\``,
      () => "a\\ b",
      () => "$'t\\tq'",
      () => "${x:-y}",
      () => `<(${command(depth - 1)})`,
      () => "-f",
      () => "a#b",
      () => "\"it's\"",
      () => "'a\"b'",
      () => "\"${x}z\"",
      () => "$((1+2))",
      () => "{a,b}",
      () => "\"a\\\"b\"",
      () => `$(( $(${simple(depth - 1)}) + 1 ))`,
      () => `\${x:-$(${simple(depth - 1)})}`,
      () => `"a\`${simple(depth - 1)}\`b"`
    ])()
  const simple = (depth: number): string => {
    const words = Array.from({ length: below(3) }, () => depth > 0 ? word(depth) : pick(["x", "'y z'", "-a"]))
    const tail = next() < 0.15
      ? pick([" >f", " 2>&1", " >>g", " &>h", " </dev/null", " 2>/dev/null", " <<<x", " >f y"])
      : ""
    return [pick(["", "", "", "v=1 "]) + marker(), ...words].join(" ") + tail
  }
  const command = (depth: number): string =>
    depth <= 0 ? simple(0) : pick<() => string>([
      () => simple(depth),
      () => simple(depth),
      () => `${command(depth - 1)} | ${command(depth - 1)}`,
      () => `${command(depth - 1)} && ${command(depth - 1)}`,
      () => `${command(depth - 1)} || ${command(depth - 1)}`,
      () => `(${list(depth - 1)})`,
      () => `{ ${list(depth - 1)}; }`,
      () => `if ${list(depth - 1)}; then ${list(depth - 1)}; else ${command(depth - 1)}; fi`,
      () => `for i in a b; do ${list(depth - 1)}; done`,
      () => `while ${command(depth - 1)}; do ${command(depth - 1)}; break; done`,
      () => `case x in y) ${command(depth - 1)};; x|z) ${list(depth - 1)};; esac`,
      () => `! ${command(depth - 1)}`,
      () => `f() { ${command(depth - 1)}; }; f`,
      () => `[ -n x ] && ${command(depth - 1)}`,
      () => `[[ a == a* ]] && ${command(depth - 1)}`,
      () => `((1)) && ${simple(depth - 1)}`,
      () => `${marker()} <<E\nt $(${simple(0)}) \`${simple(0)}\`\nE\n${simple(0)}`,
      () => `${marker()} <<'E' | ${marker()}\n$(${simple(0)})\nE\n`,
      () => `time ${simple(depth - 1)}`,
      () => `command ${marker()} x`,
      () => `eval "${marker()} x"`,
      () => `# ${marker()}\n${command(depth - 1)}`,
      () => `${simple(depth - 1)} # ; ${marker()}`,
      () => `until ${simple(0)}; do :; done`
    ])()
  const list = (depth: number): string =>
    Array.from({ length: 1 + below(2) }, () => command(depth)).join(pick(["; ", "\n", " && "]))
  return Array.from({ length: count }, (_, i) => {
    if (i % 2 === 1) {
      return Array.from({ length: 1 + below(14) }, () => pick(tokens) + (next() < 0.3 ? " " : "")).join("")
    }
    const line = list(3)
    const at = below(line.length)
    return next() < 0.3 ? line.slice(0, at) + pick(tokens) + line.slice(at) : line
  })
}

describe("real bash runs what the parser split (7.6)", () => {
  it("known tricks", () => {
    const tricks = [
      "ma; mb",
      "ma && mb",
      "ma\nmb",
      "ma & mb",
      "$(mb)",
      "ma `mb`",
      "ma \"$(mb \"`mc`\")\"",
      "m'a' x",
      "m\\a x",
      "$'m\\x61' x",
      "ma #x\nmb",
      "ma # '\nmb #'",
      "ma a#b",
      "ma <<E\n$(mb)\n`mc`\nE\nmd",
      "ma <<'E'\n$(mb)\nE\nmd",
      "ma <<-E\n\tx\n\tE\nmb",
      "ma <<E\nE \nmb\nE\nmc",
      "f() { mb; }; f",
      "ma() { mb; }; ma",
      "case x in x) ma;; esac",
      "[[ -n $(ma) ]]",
      "((1)) && ma",
      "for i in $(ma); do mb; done",
      "ma > >(mb)",
      "ma <(mb)",
      "x=$(ma)",
      "x=(a $(ma)); mb",
      "echo ${x:-$(ma)}",
      "echo ${y:-$(ma)}",
      "echo $(( $(ma) + 1 ))",
      "eval 'ma; mb'",
      "eval m\"\"a",
      "command ma x",
      "env() { mb; }; env ma",
      "time ma",
      "! ma",
      "ma \\\n  mb",
      "m\\\na",
      "ma;\\\nmb",
      "true && { ma; } || mb",
      "(ma; mb) | mc",
      "ma |& mb",
      "set -- ma mb; \"$@\"",
      "x=ma; $x y",
      "{ma,b}",
      "trap 'ma' EXIT",
      "alias mb=ma; mb",
      "exec ma",
      "builtin eval ma",
      "select i in a; do ma; break; done <<< 1",
      "coproc ma",
      "until ma; do mb; break; done",
      "if ma; then mb; fi",
      "echo \"a\\`ma\\`\"",
      "echo '`ma`'",
      "ma<<<$(mb)",
      "ma >f mb",
      ">f ma",
      "ma 2>&1 >f",
      "a[$(ma)]=1",
      "time ! ma x",
      "time time ma",
      "time v=1 ma",
      "ma $(! mb <<E\nx\nE\nmb 'y z'; command ma -a x)",
      "[[ 'a[$(ma)]' -eq 0 ]]",
      "x='a[$(ma)]'; ((x))",
      "y='$(ma)'; echo ${y@P}"
    ]
    const ran = runInBash(tricks)
    assert.isAtLeast(ran.filter((each) => each.length > 0).length, 50)
    assert.deepStrictEqual(
      tricks.flatMap((line, i) => unseen(analyse(line, shell), ran[i] ?? []).map((text) => ({ line, text }))),
      []
    )
  })

  for (const seed of [1, 20_260_101]) {
    it(`generated lines, seed ${seed}`, () => {
      const lines = generate(seed, 500)
      const ran = runInBash(lines)
      const read = lines.map((line) => analyse(line, shell))
      assert.deepStrictEqual(
        lines.flatMap((line, i) => {
          const seen = read[i]
          return seen === undefined ? [] : unseen(seen, ran[i] ?? []).map((text) => ({ line, text }))
        }),
        []
      )
      // The comparison means something: most of the lines that run anything are read, not given up on.
      const running = read.filter((_, i) => (ran[i] ?? []).length > 0)
      assert.isAtLeast(running.length, 150)
      assert.isAtLeast(running.filter((line) => line.problem === null).length / running.length, 0.7)
    })
  }
})
