/**
 * Layers built one after the other, for composition roots.
 *
 * `Layer.mergeAll` builds side by side: a fiber, two scopes and a memo entry for each layer and for each node of the tree
 * above it. Where dozens of services are made in some milliseconds that is most of the time. Here a list of layers is one
 * node: each is built with everything that stands before it, and they are closed in the reverse order.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"

type AnyLayer = Layer.Layer<never, unknown, unknown>

/** What the layers need of the outside: each one's needs without what was made before it. */
type Needs<Layers extends ReadonlyArray<unknown>, Before = never> = Layers extends readonly [infer First, ...infer Rest]
  ? First extends Layer.Layer<infer Out, infer _Error, infer In> ? Exclude<In, Before> | Needs<Rest, Before | Out>
  : never
  : never

type Made<L> = L extends Layer.Layer<infer Out, infer _Error, infer _Needs> ? Out : never
type Failed<L> = L extends Layer.Layer<infer _Out, infer Failure, infer _Needs> ? Failure : never

/**
 * Everything that the layers make. A layer that stands before one it needs leaves that need open in the type.
 *
 * @since 0.1.0
 * @category layers
 */
export const inOrder = <const Layers extends readonly [AnyLayer, ...ReadonlyArray<AnyLayer>]>(
  ...layers: Layers
): Layer.Layer<Made<Layers[number]>, Failed<Layers[number]>, Needs<Layers>> => {
  type Out = Made<Layers[number]>
  type Failure = Failed<Layers[number]>
  const build: Effect.Effect<Context.Context<Out>, Failure, Scope.Scope | Needs<Layers>> = Effect.gen(function*() {
    const scope = yield* Effect.scope
    const memo = yield* Layer.makeMemoMap
    let all: Context.Context<never> = yield* Effect.context<Needs<Layers>>()
    let made: Context.Context<never> = Context.empty()
    // the list's type says what each layer needs; here they are all alike
    for (const layer of layers as unknown as ReadonlyArray<Layer.Layer<never, Failure, never>>) {
      const built = yield* Effect.provide(Layer.buildWithMemoMap(layer, memo, scope), all)
      made = Context.merge(made, built)
      all = Context.merge(all, built)
    }
    return made as Context.Context<Out>
  })
  return Layer.scopedContext(build)
}

/**
 * The layer with only these of its services to be seen: what composes them stays private to the composition.
 *
 * @since 0.1.0
 * @category combinators
 */
export const keeping = <
  const Tags extends ReadonlyArray<{ readonly key: string; readonly Identifier: unknown }>,
  Out,
  E,
  R
>(layer: Layer.Layer<Out, E, R>, ...tags: Tags): Layer.Layer<Extract<Out, Tags[number]["Identifier"]>, E, R> => {
  const kept = new Set(tags.map((tag) => tag.key))
  return Layer.map(
    layer,
    (made) => Context.unsafeMake(new Map([...made.unsafeMap].filter(([key]) => kept.has(key))))
  )
}
