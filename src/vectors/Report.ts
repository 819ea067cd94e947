/**
 * A report of `vectors check` as text: a table of the domains, then each failure.
 *
 * @since 0.1.0
 */
import { neutralise } from "../codec/TerminalText.ts"
import type { CaseFailure, Report } from "./Check.ts"
import { missing } from "./Compare.ts"

const mostShown = 400

const shown = (value: unknown): string => {
  const text = value === missing ? missing : JSON.stringify(value) ?? missing
  return text.length > mostShown ? `${text.slice(0, mostShown)}... (${text.length} characters)` : text
}

const failureLines = (failure: CaseFailure): ReadonlyArray<string> => {
  const name = failure.id === null ? failure.domain : `${failure.domain}/${failure.id}`
  if (failure.kind === "mismatch") {
    return [
      `FAIL ${name}`,
      `  path      ${failure.path ?? ""}`,
      `  expected  ${shown(failure.expected)}`,
      `  got       ${shown(failure.got)}`
    ]
  }
  return [
    `FAIL ${name}: ${failure.kind}`,
    `  ${failure.message}`,
    ...failure.expected === null ? [] : [`  expected  ${shown(failure.expected)}`],
    ...failure.got === null ? [] : [`  got       ${shown(failure.got)}`]
  ]
}

const headings = ["domain", "cases", "passed", "failed", "skipped", "time"]

/** Ends with a line end. What came from an adapter is made safe for a terminal. @since 0.1.0 @category encoding */
export const toText = (report: Report): string => {
  const total = report.domains.reduce(
    (sum, { cases, time_ms }) => ({ cases: sum.cases + cases, time_ms: sum.time_ms + time_ms }),
    { cases: 0, time_ms: 0 }
  )
  const rows = [
    headings,
    ...[...report.domains, { domain: "all", ...total, ...report }].map((row) => [
      row.domain,
      String(row.cases),
      String(row.passed),
      String(row.failed),
      String(row.skipped),
      `${row.time_ms} ms`
    ])
  ]
  const widths = headings.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  const table = rows.map((row) =>
    row.map((cell, column) => column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0))
      .join("  ").trimEnd()
  )
  const failures = report.failures.flatMap((failure) => ["", ...failureLines(failure)])
  return neutralise([...table, ...failures, ""].join("\n"))
}

/** One JSON object, the report as it stands; ends with a line end. @since 0.1.0 @category encoding */
export const toJson = (report: Report): string => `${JSON.stringify(report)}\n`
