/**
 * Layers of one service each, and a list of them built one after the other: for composition roots that are paid at every
 * start of a program.
 *
 * `Layer.mergeAll` builds side by side: a fiber, two scopes and a memo entry for each layer and for each node of the tree
 * above it, some 130 steps of the runtime for a service that takes ten to make. `inOrder` makes a list of layers one node:
 * each is built with everything that stands before it, once, and they are closed in the reverse order.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FiberRef from "effect/FiberRef"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"

/** Makes what a layer of this module makes, without the layer around it; what it needs and how it fails, the layer says. */
type Build = Effect.Effect<Context.Context<never>>

const builds = new WeakMap<object, Build>()

const known = <L extends object, A, E, R>(layer: L, build: Effect.Effect<Context.Context<A>, E, R>): L => {
  builds.set(layer, build as unknown as Build)
  return layer
}

/** As `Layer.effect`. @since 0.1.0 @category layers */
export const effect = <I, S, E, R>(
  tag: Context.Tag<I, S>,
  make: Effect.Effect<NoInfer<S>, E, R>
): Layer.Layer<I, E, R> => {
  const build = Effect.map(make, (service) => Context.make(tag, service))
  return known(Layer.effectContext(build), build)
}

/** As `Layer.scoped`. @since 0.1.0 @category layers */
export const scoped = <I, S, E, R>(
  tag: Context.Tag<I, S>,
  make: Effect.Effect<NoInfer<S>, E, R>
): Layer.Layer<I, E, Exclude<R, Scope.Scope>> => {
  const build = Effect.map(make, (service) => Context.make(tag, service))
  return known(Layer.scopedContext(build), build)
}

/** As `Layer.scopedDiscard`. @since 0.1.0 @category layers */
export const scopedDiscard = <E, R>(
  make: Effect.Effect<unknown, E, R>
): Layer.Layer<never, E, Exclude<R, Scope.Scope>> => {
  const build = Effect.as(make, Context.empty())
  return known(Layer.scopedContext(build), build)
}

/** As `Layer.sync`. @since 0.1.0 @category layers */
export const sync = <I, S>(tag: Context.Tag<I, S>, make: () => NoInfer<S>): Layer.Layer<I> =>
  effect(tag, Effect.sync(make))

/** As `Layer.succeed`. @since 0.1.0 @category layers */
export const succeed = <I, S>(tag: Context.Tag<I, S>, service: NoInfer<S>): Layer.Layer<I> =>
  effect(tag, Effect.succeed(service))

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
    const outer = yield* Effect.context<Needs<Layers>>()
    let memo: Layer.MemoMap | undefined
    let all: Context.Context<never> = Context.add(outer, Scope.Scope, scope)
    let made: Context.Context<never> = Context.empty()
    const each = Effect.gen(function*() {
      // the list's type says what each layer needs; here they are all alike
      for (const layer of layers as unknown as ReadonlyArray<Layer.Layer<never, Failure, never>>) {
        const direct: Effect.Effect<Context.Context<never>, Failure> | undefined = builds.get(layer)
        if (direct === undefined) memo ??= yield* Layer.makeMemoMap
        // one fiber, one step after the other: setting the context is what providing it to each would come to
        yield* FiberRef.set(FiberRef.currentContext, all)
        const built = yield* direct ?? Layer.buildWithMemoMap(layer, memo as Layer.MemoMap, scope)
        made = Context.merge(made, built)
        all = Context.merge(all, built)
      }
    })
    yield* Effect.ensuring(each, FiberRef.set(FiberRef.currentContext, outer))
    return made as Context.Context<Out>
  })
  return known(Layer.scopedContext(build), build)
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
  const cut = (made: Context.Context<never>): Context.Context<never> =>
    Context.unsafeMake(new Map([...made.unsafeMap].filter(([key]) => kept.has(key))))
  const seen = Layer.map(layer, (made) => cut(made) as Context.Context<Extract<Out, Tags[number]["Identifier"]>>)
  const build = builds.get(layer)
  return build === undefined ? seen : known(seen, Effect.map(build, cut))
}
