/** `/usage` and `/cost`. @since 0.1.0 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { Config } from "../../config/Config.ts"
import { Workspace } from "../../domain/Workspace.ts"
import * as LocalTime from "../../platform/LocalTime.ts"
import { usd } from "../../provider/CostLimits.ts"
import { SessionStore, type SpendingFilter } from "../../storage/SessionStore.ts"
import * as UsageReport from "../UsageReport.ts"
import * as UsageText from "../UsageText.ts"
import type { Talk } from "./Slash.ts"

const kinds: ReadonlyArray<UsageReport.By> = ["turn", "session", "day", "model", "kind"]

const reported = (by: UsageReport.By, filter: Omit<SpendingFilter, "per">, talk: Talk) =>
  Effect.gen(function*() {
    const store = yield* SessionStore
    const rows = yield* Effect.either(store.spending({ ...filter, per: by === "turn" ? "turn" : "quarter" }))
    if (Either.isLeft(rows)) {
      yield* talk.fail(rows.left.message)
      return null
    }
    return UsageReport.make(by, rows.right)
  })

/** `/usage`: this session by model; `/usage turn`: its turns; `/usage session|day|model|kind`: this project. @since 0.1.0 @category combinators */
export const usage = (argument: string, talk: Talk) =>
  Effect.gen(function*() {
    const { root } = yield* Workspace
    const by = argument === "" ? "model" : kinds.find((each) => each === argument)
    if (by === undefined) return yield* talk.fail(`/usage takes nothing, or one of ${kinds.join(", ")}`)
    const own = argument === "" || by === "turn"
    const session_id = talk.session.get()
    if (own && session_id === undefined) return yield* talk.say("nothing was used in this session yet\n")
    const report = yield* reported(by, own && session_id !== undefined ? { session_id } : { workspace: root }, talk)
    if (report === null) return
    yield* talk.say(report.groups.length === 0 ? "nothing was used yet\n" : UsageText.text(report))
  })

const said = (report: UsageReport.Report): string =>
  report.total.requests === 0
    ? usd(0)
    : report.total.cost_usd === null
    ? "no price is known"
    : UsageText.money(report.total)

/** `/cost`: this session, today, and what limits them. @since 0.1.0 @category combinators */
export const cost = (_: string, talk: Talk) =>
  Effect.gen(function*() {
    const { config: { limits } } = yield* Config
    const session_id = talk.session.get()
    const since = LocalTime.startOfDayOf(yield* Clock.currentTimeMillis) / 1000
    const none = UsageReport.make("model", [])
    const session = session_id === undefined ? none : yield* reported("model", { session_id }, talk)
    const today = yield* reported("model", { since }, talk)
    if (session === null || today === null) return
    const of = (limit: number | undefined): string => limit === undefined ? "" : ` of ${usd(limit)}`
    const run = talk.values["max-cost"]
    yield* talk.say([
      `this session            ${said(session)}${of(limits.max_cost_per_session)}\n`,
      `today, every project    ${said(today)}${of(limits.max_cost_per_day)}\n`,
      ...(run === undefined ? [] : [`each message at most    ${usd(run)}\n`]),
      ...UsageText.remarks(today).map((remark) => `${remark}\n`),
      talk.style.dim(`${UsageText.priceSource}\n`)
    ].join(""))
  })
