/**
 * What was spent, as lines for people.
 *
 * @since 0.1.0
 */
import { line } from "../codec/TerminalText.ts"
import * as LocalTime from "../platform/LocalTime.ts"
import { catalogue } from "../provider/ModelCatalogue.ts"
import { dollars } from "../render/Transcript.ts"
import type { Amount, By, Group, Report } from "./UsageReport.ts"

/** `1234567` as `1,234,567`. @since 0.1.0 @category encoding */
export const grouped = (value: number): string => String(value).replace(/\B(?=(\d{3})+$)/gu, ",")

/** `-` where nothing had a price, `+` behind what is not all of it. @since 0.1.0 @category encoding */
export const money = ({ cost_usd, unpriced_requests }: Pick<Amount, "cost_usd" | "unpriced_requests">): string =>
  cost_usd === null ? "-" : `${dollars(cost_usd)}${unpriced_requests > 0 ? "+" : ""}`

const titles: Readonly<Record<By, string>> = {
  day: "DAY",
  kind: "KIND",
  model: "MODEL",
  session: "SESSION",
  turn: "TURN"
}

const wordsOf = (kind: string): string => line(kind, 40).replaceAll("_", " ")

const nameOf = (by: By, group: Group): string => {
  switch (by) {
    case "day":
      return group.day ?? ""
    case "model":
      return line(group.model ?? "", 60)
    case "kind":
      return wordsOf(group.kind ?? "")
    case "session":
      return group.session_id === undefined || group.session_id === null
        ? "(no session, or deleted)"
        : `${group.session_id}${group.title === null || group.title === undefined ? "" : `  ${line(group.title, 30)}`}`
    case "turn":
      return `${LocalTime.dayOf(group.at * 1000)} ${LocalTime.timeOf(group.at * 1000)}  ${
        group.session_id === undefined || group.session_id === null
          ? "(no session, or deleted)"
          : `${group.session_id}${group.run_id === null ? "" : ` turn ${group.turn}`}`
      }`
  }
}

const head = ["REQUESTS", "INPUT", "CACHE READ", "CACHE WRITE", "OUTPUT", "REASONING", "COST"]

const cells = (amount: Amount): ReadonlyArray<string> => [
  grouped(amount.requests),
  grouped(amount.usage.input_tokens),
  grouped(amount.usage.cache_read_tokens),
  grouped(amount.usage.cache_write_tokens),
  grouped(amount.usage.output_tokens),
  grouped(amount.usage.reasoning_tokens ?? 0),
  money(amount)
]

/** The first column to the left, the numbers to the right. */
const table = (rows: ReadonlyArray<ReadonlyArray<string>>): string => {
  const widths: Array<number> = []
  for (const row of rows) row.forEach((cell, at) => widths[at] = Math.max(widths[at] ?? 0, [...cell].length))
  return rows.map((row) =>
    row.map((cell, at) => {
      const blanks = " ".repeat((widths[at] ?? 0) - [...cell].length)
      return at === 0 ? cell + blanks : blanks + cell
    }).join("  ").trimEnd()
  ).map((text) => `${text}\n`).join("")
}

const plural = (count: number, one: string, several = `${one}s`): string =>
  `${grouped(count)} ${count === 1 ? one : several}`

/** What the numbers leave out. @since 0.1.0 @category encoding */
export const remarks = (
  { total, unpriced_models }: Pick<Report, "total" | "unpriced_models">
): ReadonlyArray<string> => [
  // what has no count of tokens has no cost either: that is the next line
  ...(total.unpriced_requests <= total.unreported_requests ? [] : [
    `${plural(total.unpriced_requests - total.unreported_requests, "request")} in no cost: no price is known of ${
      unpriced_models.map((model) => line(model, 60)).join(", ")
    } (set providers.NAME.models["MODEL"].price in the settings for those to come)`
  ]),
  ...(total.unreported_requests === 0
    ? []
    : [`${plural(total.unreported_requests, "request")} in no number and no cost: the provider told no tokens`])
]

/** Where prices come from that the settings do not name. @since 0.1.0 @category constants */
export const priceSource =
  `prices: your settings, else the catalogue ${catalogue.name} ${catalogue.version} of ${catalogue.date}, at the time of each request`

/** @since 0.1.0 @category encoding */
export const text = (report: Report): string => {
  const { by, groups, kinds, total } = report
  const several = groups.length > 1
  const besides = by !== "kind" && (kinds.length > 1 || kinds.some(({ kind }) => kind !== "turn"))
  return [
    table([
      [titles[by], ...head],
      ...groups.map((group) => [nameOf(by, group), ...cells(group)]),
      ...(several ? [["total", ...cells(total)]] : []),
      ...(besides
        ? kinds.map((each) => [`  of it ${wordsOf(each.kind)}`, ...cells(each)])
        : [])
    ]),
    ...remarks(report).map((remark) => `${remark}\n`),
    `${priceSource}\n`
  ].join("")
}
