/**
 * "Always" as an answer to a permission question (readings 4.9, 7.7): the rule goes to the workspace's local settings,
 * and what the user trusts there grows by exactly that rule.
 *
 * @since 0.1.0
 */
import type * as FileSystem from "@effect/platform/FileSystem"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { TaggedError } from "../domain/TaggedError.ts"
import * as Layers from "../domain/Layers.ts"
import type { PermissionRule } from "../domain/Permission.ts"
import type { Dirs } from "../platform/Dirs.ts"
import type { Environment } from "../platform/Environment.ts"
import { Config } from "./Config.ts"
import { type Definition, trustHash, waiting } from "./Definitions.ts"
import { allow } from "./Edit.ts"
import { reader } from "./Load.ts"
import { SettingsWriter } from "./SettingsWriter.ts"
import * as Tiers from "./Tiers.ts"
import { Trust } from "./Trust.ts"

/**
 * | reason | meaning |
 * | --- | --- |
 * | `no_workspace` | there is no workspace whose settings could hold the rule |
 * | `not_allow` | only allow-rules are written |
 * | `untrusted` | the settings of the workspace hold something that is not trusted: a rule would not count either |
 * | `failed` | the settings or the trust file cannot be changed |
 *
 * @since 0.1.0
 * @category errors
 */
export class AllowAlwaysError extends TaggedError("@hanzo/dev/config/AllowAlwaysError")("AllowAlwaysError", () => ({
  reason: Schema.Literal("no_workspace", "not_allow", "untrusted", "failed"),
  message: Schema.String
})) {}

/** @since 0.1.0 @category models */
export interface AllowAlwaysService {
  /** Writes the rule before all others of the local tier. The running settings stay as they are. */
  readonly persistAllow: (rule: PermissionRule) => Effect.Effect<void, AllowAlwaysError>
}

const make = Effect.gen(function*() {
  const config = yield* Config
  const writer = yield* SettingsWriter
  const trust = yield* Trust
  const { local, managed } = config.files
  const { root } = config.trust
  // Read when the first rule is to be kept, not at every start.
  const sourceOnce = yield* Effect.cached(
    reader({
      ...(root === null ? {} : { root }),
      ...(managed === null ? {} : { managed_file: managed })
    }).pipe(Effect.provide(yield* Effect.context<FileSystem.FileSystem | Dirs | Environment>()))
  )
  const oneAtATime = yield* Effect.makeSemaphore(1)

  const fail = (reason: AllowAlwaysError["reason"], message: string) => new AllowAlwaysError({ reason, message })
  const failed = (error: { readonly message: string }) => fail("failed", error.message)

  const persist = (rule: PermissionRule): Effect.Effect<void, AllowAlwaysError> =>
    Effect.gen(function*() {
      if (rule.mode !== "allow") return yield* fail("not_allow", "only allow-rules are kept for good")
      if (root === null || local === null) {
        return yield* fail("no_workspace", "there is no workspace to keep the rule in")
      }
      // As the files are now and with what the user trusts for good: what somebody wrote into them since the start must
      // not be trusted along with the rule.
      const source = yield* sourceOnce
      const { tiers } = yield* source.tiers
      const { record } = yield* source.trusted
      const extensions = yield* source.extensions
      const withLocal = (text: string): ReadonlyArray<Definition> => [
        ...waiting(tiers.map((values) => values.tier === "local" ? Tiers.fromText("local", local, text) : values))
          .definitions,
        ...extensions
      ]
      const definitions = [...waiting(tiers).definitions, ...extensions]
      const before = trustHash(root, definitions)
      if (definitions.length > 0 && record?.hash !== before) {
        return yield* fail(
          "untrusted",
          "the settings of this workspace hold something that is not trusted, so a rule there would not count; " +
            "hanzo-dev config trust shows it"
        )
      }
      const { text } = yield* Effect.mapError(
        writer.change(config.files, "local", (text) =>
          trustHash(root, withLocal(text)) === before
            ? allow(text, rule.tool_pattern)
            : { problem: "it has changed just now; nothing was written" }),
        failed
      )
      const grown = withLocal(text)
      yield* Effect.mapError(trust.grant({ root, hash: trustHash(root, grown), definitions: grown }), failed)
      yield* config.acknowledge
    })

  const service: AllowAlwaysService = { persistAllow: (rule) => oneAtATime.withPermits(1)(persist(rule)) }
  return service
})

/** @since 0.1.0 @category services */
export class AllowAlways extends Context.Tag("@hanzo/dev/config/AllowAlways")<AllowAlways, AllowAlwaysService>() {
  static readonly layer: Layer.Layer<
    AllowAlways,
    never,
    Config | SettingsWriter | Trust | FileSystem.FileSystem | Dirs | Environment
  > = Layers.effect(AllowAlways, make)
}
