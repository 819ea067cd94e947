/**
 * The two kinds of findings of `hanzo-dev doctor`.
 *
 * @since 0.1.0
 */
import type { DoctorCheck } from "./Schemas.ts"

/** @since 0.1.0 @category models */
export type Group = DoctorCheck["group"]

/** @since 0.1.0 @category constructors */
export const ok = (group: Group, name: string, detail: string): DoctorCheck => ({
  group,
  name,
  status: "ok",
  detail,
  fix: null
})

/** @since 0.1.0 @category constructors */
export const bad = (
  group: Group,
  name: string,
  status: "warning" | "error",
  detail: string,
  fix: string
): DoctorCheck => ({ group, name, status, detail, fix })
