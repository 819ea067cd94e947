/**
 * The program's own directories (architecture section 5, reading 4.1, D12).
 *
 * The variables and fallbacks are those of `Places`. Nothing is created here: whoever writes creates.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as path from "node:path"
import * as Layers from "../domain/Layers.ts"
import { Environment, type EnvironmentService, variable } from "./Environment.ts"
import { type PlaceKind, placeOf } from "./Places.ts"

/** Absolute paths. @since 0.1.0 @category models */
export interface DirsService {
  readonly config: string
  /** Sessions live in `<data>/sessions.db`. */
  readonly data: string
  readonly state: string
  readonly cache: string
  /** The user's home directory. */
  readonly home: string
}

/** The directories that follow from an environment. @since 0.1.0 @category constructors */
export const fromEnvironment = (environment: Pick<EnvironmentService, "vars" | "home">): DirsService => {
  const place = (kind: PlaceKind): string =>
    placeOf(kind, { variable: (name) => variable(environment, name), home: environment.home })
  return {
    config: place("CONFIG"),
    data: place("DATA"),
    state: place("STATE"),
    cache: place("CACHE"),
    home: environment.home
  }
}

/** @since 0.1.0 @category services */
export class Dirs extends Context.Tag("@hanzo/dev/platform/Dirs")<Dirs, DirsService>() {
  static readonly layer: Layer.Layer<Dirs, never, Environment> = Layers.effect(
    Dirs,
    Effect.map(Environment, fromEnvironment)
  )

  /** `<root>/config`, `<root>/data`, `<root>/state`, `<root>/cache`, home `<root>/home`. */
  static readonly layerTest = (root: string): Layer.Layer<Dirs> =>
    Layers.succeed(Dirs, {
      config: path.join(root, "config"),
      data: path.join(root, "data"),
      state: path.join(root, "state"),
      cache: path.join(root, "cache"),
      home: path.join(root, "home")
    })
}
