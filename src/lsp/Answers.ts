/**
 * Questions to all servers of a file, and the time each of them has (reading 8.5).
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { unique } from "./Diagnosing.ts"
import type { FileDiagnostics } from "./Lsp.ts"
import type { LspClient } from "./LspClient.ts"
import { LspError } from "./LspError.ts"
import { definitionOf, type Resolved, type Resolving } from "./Resolving.ts"
import type * as Slots from "./Slots.ts"
import { uriOf } from "./Uri.ts"

/** So many late answers in a row, and a server is waited for only {@link lateMs} until it is in time again. */
const mostLate = 3
const lateMs = 500

/** @since 0.1.0 @category models */
export interface AnswersInput {
  readonly resolving: Resolving
  /** Started when it does not run. */
  readonly clientOf: (one: Resolved) => Effect.Effect<LspClient, LspError>
  /** For a server's first answer, its start included. */
  readonly first_ms: number
  /** For its later ones, after a change. */
  readonly settle_ms: number
  /** One line for the user. */
  readonly tell: (line: string) => void
}

/** @since 0.1.0 @category models */
export interface Answers {
  /** Asks every server of a file; those that cannot do it are passed over. Fails when none has answered. */
  readonly askAll: <A>(
    path: string,
    use: (client: LspClient) => Effect.Effect<A, LspError>
  ) => Effect.Effect<ReadonlyArray<A>, LspError>
  /** Of all servers of a file, put together; `wait_ms` in all, the start included. */
  readonly diagnostics: (path: string, wait_ms?: number) => Effect.Effect<FileDiagnostics>
}

/** @since 0.1.0 @category constructors */
export const make = ({ clientOf, first_ms, resolving, settle_ms, tell }: AnswersInput): Answers => {
  const { nobody, serversFor } = resolving

  /** Servers, with the ways in which they fail that the user has heard of: what they say may differ each time. */
  const told = new Set<string>()
  const tellOnce = (server: string, way: string, line: string): void => {
    if (told.has(`${server}\0${way}`)) return
    told.add(`${server}\0${way}`)
    tell(line)
  }

  /** Of an answer that is none the user hears once; of an end, from those who see it. */
  const tellAnswer = (client: LspClient, { message, reason, server }: LspError): Effect.Effect<void> =>
    reason !== "remote" && reason !== "protocol"
      ? Effect.void
      : Effect.raceFirst(Effect.as(client.closed, true), Effect.as(Effect.yieldNow(), false)).pipe(
        Effect.map((closed) => closed ? undefined : tellOnce(server, reason, message))
      )

  const askAll = <A>(
    path: string,
    use: (client: LspClient) => Effect.Effect<A, LspError>
  ): Effect.Effect<ReadonlyArray<A>, LspError> =>
    Effect.gen(function*() {
      const servers = yield* serversFor(path)
      if (servers.length === 0) return yield* nobody(path)
      const answers = yield* Effect.forEach(
        servers,
        (one) => Effect.either(Effect.flatMap(clientOf(one), use)),
        { concurrency: "unbounded" }
      )
      const good = answers.flatMap((answer) => answer._tag === "Right" ? [answer.right] : [])
      if (good.length > 0) return good
      const errors = answers.flatMap((answer) => answer._tag === "Left" ? [answer.left] : [])
      return yield* errors.find((error) => error.reason !== "unsupported") ?? errors[0] ?? nobody(path)
    })

  const notReady = (server: string, path: string, ms: number): LspError =>
    new LspError({
      reason: "not_ready",
      server,
      message: `the language server ${server} has not looked at ${path} within ${
        ms < 1_000 ? `${Math.round(ms)} ms` : `${Math.round(ms / 100) / 10} s`
      }, which does not mean that there are no errors`
    })

  /** A server has its first answer's time once, counted from its start; one that is late again and again has little. */
  const patienceWith = ({ late, started_at, state, warm }: Slots.Slot, now: number): number => {
    const since = state._tag === "Starting" || state._tag === "Ready" ? now - started_at : 0
    return warm || since >= first_ms - settle_ms
      ? late >= mostLate ? Math.min(lateMs, settle_ms) : settle_ms
      : first_ms - since
  }

  const diagnostics = (path: string, wait_ms?: number): Effect.Effect<FileDiagnostics> =>
    Effect.gen(function*() {
      const servers = yield* serversFor(path)
      const answers = yield* Effect.forEach(servers, (one) =>
        Effect.gen(function*() {
          const began = yield* Clock.currentTimeMillis
          const all = wait_ms ?? (one._tag === "Slot" ? patienceWith(one.slot, began) : first_ms)
          const { name } = definitionOf(one)
          const client = yield* clientOf(one).pipe(Effect.timeoutOption(Duration.millis(all)))
          if (Option.isNone(client)) return yield* notReady(name, path, all)
          const now = yield* Clock.currentTimeMillis
          const answer = yield* client.value.diagnostics(uriOf(path), Math.max(0, all - (now - began))).pipe(
            Effect.tapError((error) => tellAnswer(client.value, error))
          )
          if (one._tag === "Slot") {
            one.slot.late = answer.ready ? 0 : one.slot.late + 1
            if (answer.ready) one.slot.warm = true
            if (one.slot.late === mostLate) {
              tellOnce(
                name,
                "late",
                `the language server ${name} was late ${mostLate} times in a row; it is hardly waited for until it is ` +
                  "in time again"
              )
            }
          }
          return { name, answer, problem: answer.ready ? null : notReady(name, path, all) }
        }).pipe(Effect.either), { concurrency: "unbounded" })
      const good = answers.flatMap((one) => one._tag === "Right" ? [one.right] : [])
      const problems = answers.flatMap((one) =>
        one._tag === "Left" ? [one.left] : one.right.problem === null ? [] : [one.right.problem]
      )
      return {
        path,
        diagnostics: unique(good.flatMap(({ answer }) => answer.diagnostics)),
        ready: servers.length > 0 && problems.length === 0,
        servers: good.filter(({ problem }) => problem === null).map(({ name }) => name),
        problems
      }
    })

  return { askAll, diagnostics }
}
