/**
 * Where a session works and what the settings say there: the part of the composition that most commands need.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { Config, type ConfigFlags, type ConfigService, load, type TrustMode } from "../config/Config.ts"
import * as Layers from "../domain/Layers.ts"
import { Workspace } from "../domain/Workspace.ts"
import * as ProjectRoot from "./ProjectRoot.ts"

/** @since 0.1.0 @category models */
export interface SettingsOptions {
  /** What `-C` said. */
  readonly directory?: string
  readonly flags?: ConfigFlags
  /** Settings in place of those on disk; the demo's. */
  readonly settings?: string
  /** Settings that were read before, in place of reading them. */
  readonly config?: ConfigService
  /** How much of the workspace's own settings counts; default: what the user has trusted. */
  readonly trust?: TrustMode
}

/** Where the session works and what the settings of all tiers say there. @since 0.1.0 @category layers */
export const layerSettings = (options: SettingsOptions = {}) => {
  const { config, settings } = options
  return Layers.inOrder(
    ProjectRoot.layer(options.directory),
    config !== undefined
      ? Config.layerOf(config)
      : settings !== undefined
      ? Config.layerText(settings, options.flags)
      : Layers.effect(
        Config,
        Effect.flatMap(Workspace, ({ root }) =>
          load({
            root,
            ...(options.flags === undefined ? {} : { flags: options.flags }),
            ...(options.trust === undefined ? {} : { trust: options.trust })
          }))
      )
  )
}
