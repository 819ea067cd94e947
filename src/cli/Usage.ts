/**
 * `hanzo-dev usage`: tokens and money of the record.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { line } from "../codec/TerminalText.ts"
import { Workspace } from "../domain/Workspace.ts"
import * as LocalTime from "../platform/LocalTime.ts"
import { Terminal } from "../platform/Terminal.ts"
import { catalogue } from "../provider/ModelCatalogue.ts"
import { SessionStore } from "../storage/SessionStore.ts"
import { type CliExit, failed, usage } from "./Exit.ts"
import { print, printJson } from "./Output.ts"
import type * as Spec from "./Spec.ts"
import * as UsageReport from "./UsageReport.ts"
import type { UsageDocument } from "./UsageSchemas.ts"
import * as UsageText from "./UsageText.ts"

const moment = (
  name: "since" | "until",
  text: string | undefined,
  now: number
): Effect.Effect<number | undefined, CliExit> => {
  if (text === undefined) return Effect.succeed(undefined)
  const found = UsageReport.momentOf(text, now, name === "until")
  return found === null
    ? usage(
      `--${name} ${JSON.stringify(line(text, 60))} is no day and no time`,
      "for example 2026-11-30, 2026-11-30T14:00, 2026-11-30T14:00+01:00, 7d, today, yesterday"
    )
    : Effect.succeed(found / 1000)
}

/** @since 0.1.0 @category combinators */
export const execute = Effect.fn("Cli.usage")(function*(values: Spec.Values<typeof Spec.usage>) {
  const store = yield* SessionStore
  const { root } = yield* Workspace
  const now = yield* Clock.currentTimeMillis
  const since = yield* moment("since", values.since, now)
  const until = yield* moment("until", values.until, now)
  if (since !== undefined && until !== undefined && since >= until) {
    return yield* usage("--until lies before --since: there is no time between them")
  }
  const session = values.session === undefined
    ? undefined
    : yield* Effect.mapError(
      store.find(values.session),
      (error) => error.reason === "not_found" ? usage(...error.message.split("\n")) : failed(error.message)
    )
  const workspace = values.all || session !== undefined ? undefined : root
  const by = values.by ?? (session === undefined ? "day" : "turn")
  const rows = yield* Effect.mapError(
    store.spending({
      per: by === "turn" ? "turn" : "quarter",
      ...(since === undefined ? {} : { since }),
      ...(until === undefined ? {} : { until }),
      ...(workspace === undefined ? {} : { workspace }),
      ...(session === undefined ? {} : { session_id: session.id })
    }),
    (error) => failed(...error.message.split("\n"))
  )
  const report = UsageReport.make(by, rows)
  if (values.json) {
    yield* printJson(
      {
        v: 1,
        by,
        workspace: workspace ?? null,
        session_id: session?.id ?? null,
        since: since ?? null,
        until: until ?? null,
        time_zone: LocalTime.zone(),
        prices: catalogue,
        groups: report.groups,
        kinds: report.kinds,
        unpriced_models: report.unpriced_models,
        total: report.total
      } satisfies UsageDocument
    )
  } else if (report.groups.length > 0) yield* print(UsageText.text(report))
  else {
    const terminal = yield* Terminal
    yield* terminal.err(
      workspace === undefined
        ? "no model was used in this time\n"
        : `no model was used for ${
          line(root, 300)
        } in this time (--all counts every project, and sessions that were deleted)\n`
    )
  }
  return 0
})
