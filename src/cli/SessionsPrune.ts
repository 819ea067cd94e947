/**
 * `hanzo-dev sessions prune`.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { RetentionConfig } from "../config/Schema.ts"
import { Environment } from "../platform/Environment.ts"
import { Terminal } from "../platform/Terminal.ts"
import type { Policy } from "../storage/Retention.ts"
import { SessionStore } from "../storage/SessionStore.ts"
import { usage } from "./Exit.ts"
import { print, printJson, soundConfig } from "./Output.ts"
import { storageExit } from "./Sessions.ts"
import type { SessionsPrune } from "./SessionsSchemas.ts"
import { sessionRows } from "./SessionText.ts"
import type * as Spec from "./Spec.ts"

const daySeconds = 86_400

/** What the settings say is kept, at this time (milliseconds since the epoch). @since 0.1.0 @category constructors */
export const policyOf = ({ max_age_days, max_megabytes }: RetentionConfig, now: number): Policy => ({
  ...(max_age_days === undefined ? {} : { before: now / 1000 - max_age_days * daySeconds }),
  ...(max_megabytes === undefined ? {} : { max_bytes: max_megabytes * 1_000_000 })
})

const megabytes = (bytes: number): string => `${(bytes / 1_000_000).toFixed(1)} MB`

/** @since 0.1.0 @category combinators */
export const execute = Effect.fn("Cli.sessions.prune")(function*(values: Spec.Values<typeof Spec.sessionsPrune>) {
  const store = yield* SessionStore
  const terminal = yield* Terminal
  const environment = yield* Environment
  const { config } = yield* soundConfig
  const said = values["older-than"] !== undefined || values["max-megabytes"] !== undefined
  const limits: RetentionConfig = said
    ? {
      ...(values["older-than"] === undefined ? {} : { max_age_days: values["older-than"] }),
      ...(values["max-megabytes"] === undefined ? {} : { max_megabytes: values["max-megabytes"] })
    }
    : config.session_retention
  if (limits.max_age_days === undefined && limits.max_megabytes === undefined) {
    return yield* usage(
      "nothing says which sessions may go",
      "give --older-than DAYS or --max-megabytes N, or set session_retention in your settings"
    )
  }
  const policy = policyOf(limits, yield* Clock.currentTimeMillis)
  const going = yield* Effect.mapError(store.expired(policy), storageExit)
  const rows = sessionRows(going.map(({ session }) => session))
  const sum = going.reduce((all, { bytes }) => all + bytes, 0)
  const amount = `${going.length} session${going.length === 1 ? "" : "s"}${sum === 0 ? "" : ` (${megabytes(sum)})`}`
  if (values["dry-run"] || going.length === 0) {
    if (values.json) yield* printJson({ v: 1, dry_run: values["dry-run"], sessions: going } satisfies SessionsPrune)
    else {
      yield* print(rows)
      yield* terminal.err(going.length === 0 ? "no session has to go\n" : `${amount} would be deleted\n`)
    }
    return 0
  }
  if (!values.yes) {
    if (!environment.stdin_is_tty || !environment.stdout_is_tty) {
      return yield* usage("deleting sessions without a terminal needs --yes; --dry-run says which ones")
    }
    yield* terminal.err(rows)
    const answer = yield* terminal.readLine(`delete ${amount} for good? y/N > `, { fresh: true })
    if (answer.type !== "line" || !/^\s*y(es)?\s*$/i.test(answer.text)) {
      yield* terminal.err("nothing was deleted\n")
      return 1
    }
  }
  const gone = new Set(yield* Effect.mapError(store.prune(going.map(({ session }) => session.id)), storageExit))
  const sessions = going.filter(({ session }) => gone.has(session.id))
  // The room is given back when nobody else is at the record; what could not be is used by what comes next.
  yield* Effect.ignore(store.vacuum)
  if (values.json) yield* printJson({ v: 1, dry_run: false, sessions } satisfies SessionsPrune)
  else yield* terminal.err(`deleted ${sessions.length} session${sessions.length === 1 ? "" : "s"}\n`)
  return 0
})
