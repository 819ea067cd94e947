/**
 * Where "always" is written (reading 7.7).
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { PermissionRule } from "../domain/Permission.ts"

/** @since 0.1.0 @category models */
export interface PersistAllowService {
  /**
   * Adds an allow rule to the settings of the local tier, the trust record with it. Fails with words for the user; the
   * rule holds for the session all the same.
   */
  readonly persistAllow: (rule: PermissionRule) => Effect.Effect<void, { readonly message: string }>
}

/** Optional: without it "always" holds for the session. @since 0.1.0 @category services */
export class PersistAllow
  extends Context.Tag("@hanzo/dev/permissions/PersistAllow")<PersistAllow, PersistAllowService>()
{}
