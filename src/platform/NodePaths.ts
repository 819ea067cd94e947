/**
 * Paths by Node's own rules, as one service without a layer of its own to build.
 *
 * @since 0.1.0
 */
import { BadArgument } from "@effect/platform/Error"
import * as Path from "@effect/platform/Path"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as path from "node:path"
import * as url from "node:url"
import * as Layers from "../domain/Layers.ts"

const attempt = <A>(method: string, given: unknown, run: () => A): Effect.Effect<A, BadArgument> =>
  Effect.try({
    try: run,
    catch: (cause) =>
      new BadArgument({ module: "Path", method, description: `no such address: ${String(given)}`, cause })
  })

/** @since 0.1.0 @category layers */
export const layer: Layer.Layer<Path.Path> = Layers.sync(Path.Path, () => ({
  [Path.TypeId]: Path.TypeId,
  sep: path.sep,
  basename: path.basename,
  dirname: path.dirname,
  extname: path.extname,
  format: path.format,
  isAbsolute: path.isAbsolute,
  join: path.join,
  normalize: path.normalize,
  parse: path.parse,
  relative: path.relative,
  resolve: path.resolve,
  toNamespacedPath: path.toNamespacedPath,
  fromFileUrl: (given) => attempt("fromFileUrl", given, () => url.fileURLToPath(given)),
  toFileUrl: (given) => attempt("toFileUrl", given, () => url.pathToFileURL(given))
}))
