import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Layers from "../../src/domain/Layers.ts"

class A extends Context.Tag("A")<A, { readonly name: string }>() {}
class B extends Context.Tag("B")<B, { readonly name: string }>() {}
class C extends Context.Tag("C")<C, { readonly name: string }>() {}

describe("Layers.inOrder", () => {
  const traced = (log: Array<string>) => {
    const noted = (name: string) =>
      Effect.acquireRelease(
        Effect.sync(() => {
          log.push(`+${name}`)
          return { name }
        }),
        () => Effect.sync(() => void log.push(`-${name}`))
      )
    return {
      a: Layers.scoped(A, noted("a")),
      // layers of any making stand beside those of this module
      b: Layer.scoped(B, Effect.flatMap(A, ({ name }) => noted(`b(${name})`))),
      c: Layers.scoped(C, Effect.flatMap(Effect.all([A, B]), ([a, b]) => noted(`c(${a.name},${b.name})`)))
    }
  }

  it.effect("each is built with what stands before it and closed before it", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const { a, b, c } = traced(log)
      const names = yield* Effect.provide(Effect.all([A, B, C]), Layers.inOrder(a, b, c))
      assert.deepEqual(names.map(({ name }) => name), ["a", "b(a)", "c(a,b(a))"])
      assert.deepEqual(log, ["+a", "+b(a)", "+c(a,b(a))", "-c(a,b(a))", "-b(a)", "-a"])
    }))

  it.effect("one that fails closes those before it, and the later ones are not begun", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const { a, b, c } = traced(log)
      const failing = Layers.effect(B, Effect.fail("no b"))
      const exit = yield* Effect.exit(Effect.provide(C, Layers.inOrder(a, failing, c, b)))
      assert.deepEqual(exit, Exit.fail("no b"))
      assert.deepEqual(log, ["+a", "-a"])
    }))

  it.effect("is made once where a composition names it twice", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const { a } = traced(log)
      const shared = Layers.inOrder(a)
      const left = Layer.provide(Layer.effect(B, A), shared)
      const right = Layer.provide(Layer.effect(C, A), shared)
      const [b, c] = yield* Effect.provide(Effect.all([B, C]), Layer.merge(left, right))
      assert.strictEqual(b, c)
      assert.deepEqual(log, ["+a", "-a"])
    }))

  it.effect("a layer alone is what Layer makes of the same service", () =>
    Effect.gen(function*() {
      assert.deepEqual(yield* Effect.provide(A, Layers.succeed(A, { name: "x" })), { name: "x" })
      assert.deepEqual(yield* Effect.provide(A, Layers.sync(A, () => ({ name: "y" }))), { name: "y" })
      assert.deepEqual(
        yield* Effect.provide(B, Layer.provide(Layers.effect(B, A), Layers.succeed(A, { name: "z" }))),
        { name: "z" }
      )
    }))

  it.effect("keeping: the services that are not named cannot be had from outside", () =>
    Effect.gen(function*() {
      const all = Layers.inOrder(Layers.succeed(A, { name: "a" }), Layers.effect(B, A))
      const context = yield* Layer.build(Layers.keeping(all, B))
      assert.deepEqual([...context.unsafeMap.keys()], ["B"])
    }).pipe(Effect.scoped))
})
