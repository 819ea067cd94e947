/** 14.6: the sessions of subagents belong to the session that they worked for. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
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
})
