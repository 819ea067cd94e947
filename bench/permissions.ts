/**
 * Evaluations against a thousand rules, and the reading of command lines.
 *
 * @since 0.1.0
 */
import { PermissionPolicy } from "../src/permissions/Policy.ts"
import { analyse } from "../src/permissions/Shell.ts"
import { makeParser } from "../src/platform/ShellGrammar.ts"
import type { BenchResult } from "./Bench.ts"
import { interleaved, median, result } from "./Bench.ts"

const many = 1000
const modes = ["allow", "prompt", "deny"] as const

const policyOf = (pattern: (n: number) => string, shell?: Awaited<ReturnType<typeof makeParser>>) =>
  new PermissionPolicy(
    Array.from({ length: many }, (_, n) => ({ tool_pattern: pattern(n), mode: modes[n % 3] ?? "deny" })),
    { shell }
  )

/** Microseconds an evaluation. */
const each = (count: number, evaluate: (n: number) => unknown): number => {
  const times = interleaved({
    run: () => {
      for (let n = 0; n < count; n++) evaluate(n)
    }
  })
  return median(times["run"] ?? []) / count * 1000
}

const against = (name: string, at_most: number, count: number, evaluate: (n: number) => unknown): BenchResult =>
  result({ name: `permissions, ${name}`, value: each(count, evaluate), unit: "µs", target: { at_most } })

/** About 200 characters, as an agent writes them. */
const line =
  "cd packages/core && npm run build -- --watch=false 2>&1 | tail -20; for f in src/*.ts; do grep -n \"TODO\" \"$f\" || " +
  "echo \"none in $f\"; done > out.txt && git commit -m \"$(cat notes.txt)\" --no-verify"

/** @since 0.1.0 @category constructors */
export const run = async (): Promise<ReadonlyArray<BenchResult>> => {
  const shell = await makeParser()
  const names = policyOf((n) => `mcp__server${n}__*`)
  const files = policyOf((n) => `write(dir${n}/*)`)
  const commands = policyOf((n) => `bash(program${n} *)`, shell)
  const stars = policyOf((n) => `*__tool${n}`)
  const classes = policyOf((n) => `write(*[a-z]${n}?*)`)
  return [
    against(
      "1,000 rules with distinct prefixes, tools seen before",
      10,
      20_000,
      (n) => names.evaluate(`mcp__server${n % many}__x`)
    ),
    against(
      "1,000 rules with distinct prefixes, a new tool every time",
      10,
      20_000,
      (n) => names.evaluate(`mcp__server${n % many}__${n}`)
    ),
    against(
      "1,000 rules with distinct prefixes, subjects",
      10,
      20_000,
      (n) => files.evaluate("write", `dir${n % many}/a/b.ts`)
    ),
    against(
      "1,000 rules that all begin with a star, a new tool every time",
      250,
      2_000,
      (n) => stars.evaluate(`mcp__some_server__tool_${n}`)
    ),
    against(
      "1,000 rules of stars and classes, subjects",
      250,
      2_000,
      (n) => classes.evaluate("write", `src/components/some/file_${n}.ts`)
    ),
    against(`reading a command line of ${line.length} characters`, 500, 300, () => analyse(line, shell)),
    against(`the same against 1,000 rules for commands`, 1000, 300, () => commands.evaluate("bash", line)),
    against(
      "a short command line against 1,000 rules",
      100,
      2_000,
      (n) => commands.evaluate("bash", `program${n % many} --flag`)
    )
  ]
}
