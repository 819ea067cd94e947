/**
 * Starts processes under the policy in force. Tools and language servers take this Tag, never `Processes` itself, so
 * that a sandbox put in its place holds for all of them; hooks and MCP servers, which the user defined, get the plain one.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Layer from "effect/Layer"
import { Processes, type ProcessesService } from "./Processes.ts"

/** @since 0.1.0 @category services */
export class Spawner extends Context.Tag("@hanzo/dev/platform/Spawner")<Spawner, ProcessesService>() {
  /** No policy: what is asked for is what starts. */
  static readonly layerPlain: Layer.Layer<Spawner, never, Processes> = Layer.effect(Spawner, Processes)
}
