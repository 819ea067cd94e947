/** The other end of a JSON-RPC peer, played by a test: what the peer sent, and what it gets. */
import * as Effect from "effect/Effect"
import * as Mailbox from "effect/Mailbox"
import * as Queue from "effect/Queue"
import type { JsonRpcItem, JsonRpcMessage } from "../../src/codec/JsonRpc.ts"
import type { Inbound, JsonRpcDuplex } from "../../src/rpc/Duplex.ts"

export interface Wire<E, C> {
  readonly duplex: JsonRpcDuplex<E, C>
  /** The next message the peer sends. */
  readonly sent: Effect.Effect<JsonRpcMessage>
  /** All that was sent and not taken by `sent`. */
  readonly rest: Effect.Effect<ReadonlyArray<JsonRpcMessage>>
  readonly contexts: ReadonlyArray<C | undefined>
  readonly say: (...items: ReadonlyArray<JsonRpcItem>) => Effect.Effect<void>
  readonly sayOn: (on: number, item: JsonRpcItem) => Effect.Effect<void>
  readonly end: Effect.Effect<void>
  readonly fail: (error: E) => Effect.Effect<void>
}

export const make = <E, C = undefined>(): Effect.Effect<Wire<E, C>> =>
  Effect.gen(function*() {
    const out = yield* Queue.unbounded<JsonRpcMessage>()
    const mailbox = yield* Mailbox.make<Inbound, E>()
    const contexts: Array<C | undefined> = []
    return {
      duplex: {
        send: (message, context) =>
          Effect.suspend(() => {
            contexts.push(context)
            return Effect.asVoid(Queue.offer(out, message))
          }),
        incoming: Mailbox.toStream(mailbox)
      },
      sent: Queue.take(out),
      rest: Effect.map(Queue.takeAll(out), (all) => [...all]),
      contexts,
      say: (...items) => Effect.asVoid(mailbox.offerAll(items.map((item) => ({ item })))),
      sayOn: (on, item) => Effect.asVoid(mailbox.offer({ item, on })),
      end: Effect.asVoid(mailbox.end),
      fail: (error) => Effect.asVoid(mailbox.fail(error))
    }
  })

/** Fails the test's fiber if it takes longer than so many yields: for what must not wait. */
export const settled = Effect.repeatN(Effect.yieldNow(), 50)
