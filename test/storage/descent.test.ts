/** 14.6: the sessions of subagents belong to the session that they worked for. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { empty } from "../../src/domain/Usage.ts"
import type { SessionStoreService } from "../../src/storage/SessionStore.ts"
import * as SqliteSessionStore from "../../src/storage/SqliteSessionStore.ts"

const family = (store: SessionStoreService) =>
  Effect.forEach(
    [["top", null], ["child", "top"], ["grandchild", "child"], ["fork", "top"], ["other", null]] as const,
    ([id, parent]) =>
      store.create({
        id,
        workspace: "/w",
        provider: "p",
        model: "m",
        ...(parent === null ? {} : { parent_session_id: parent }),
        ...(id.endsWith("child") ? { source: "subagent" } : {})
      })
  )

const ids = (store: SessionStoreService, subagents = true) =>
  Effect.map(store.list({ subagents }), (all) => all.map(({ id }) => id).toSorted())

describe("sessions of subagents", () => {
  it.scoped("are in a list when they are asked for", () =>
    Effect.gen(function*() {
      const store = yield* SqliteSessionStore.open(":memory:")
      yield* family(store)
      assert.deepStrictEqual(yield* ids(store, false), ["fork", "other", "top"])
      assert.deepStrictEqual(yield* ids(store), ["child", "fork", "grandchild", "other", "top"])
    }))

  it.scoped("go with theirs; what else came from it stays", () =>
    Effect.gen(function*() {
      const store = yield* SqliteSessionStore.open(":memory:")
      yield* family(store)
      yield* store.delete("top")
      assert.deepStrictEqual(yield* ids(store), ["fork", "other"])
      const fork = yield* store.find("fork")
      assert.isNull(fork.parent_session_id)
    }))

  it.scoped("are let go of by the retention with theirs, never alone", () =>
    Effect.gen(function*() {
      const store = yield* SqliteSessionStore.open(":memory:")
      yield* family(store)
      const expired = yield* store.expired({ before: Number.MAX_SAFE_INTEGER })
      assert.deepStrictEqual(expired.map(({ session }) => session.id).toSorted(), ["fork", "other", "top"])
      assert.deepStrictEqual(yield* store.prune(["child"]), [])
      assert.deepStrictEqual(yield* store.prune(["top"]), ["top"])
      assert.deepStrictEqual(yield* ids(store), ["fork", "other"])
    }))

  it.scoped("count for the sessions that they work for, up to the person's own, and for no other", () =>
    Effect.gen(function*() {
      const store = yield* SqliteSessionStore.open(":memory:")
      yield* family(store)
      const spend = (session_id: string, cost_usd: number | null) =>
        Effect.gen(function*() {
          yield* store.beginRun({ id: `run-${session_id}`, session_id, model: "p/m" })
          yield* store.beginAttempt({ id: `att-${session_id}`, run_id: `run-${session_id}`, turn: 1, number: 1 })
          const usage = { ...empty, input_tokens: 10, output_tokens: 1, total_tokens: 11 }
          yield* store.endAttempt(`att-${session_id}`, { status: "completed", usage, cost_usd })
        })
      yield* spend("grandchild", 0.5)
      yield* spend("child", 0.25)
      yield* spend("top", null)
      yield* spend("fork", 1)
      const counted = yield* Effect.forEach(
        ["grandchild", "child", "top", "fork", "other"],
        (id) =>
          Effect.map(store.find(id), ({ cost_usd, usage }) => [id, usage.input_tokens, usage.output_tokens, cost_usd])
      )
      assert.deepStrictEqual(counted, [
        ["grandchild", 10, 1, 0.5],
        ["child", 20, 2, 0.75],
        ["top", 30, 3, 0.75],
        ["fork", 10, 1, 1],
        ["other", 0, 0, null]
      ])
    }))
})
