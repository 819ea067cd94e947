/**
 * What `hanzo-dev doctor` says of the sandbox: what is enforced here, and why it is not more.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { line } from "../codec/TerminalText.ts"
import type { Sandbox } from "../sandbox/Sandbox.ts"
import { bad, ok } from "./DoctorCheck.ts"
import { document } from "./Sandbox.ts"
import type { DoctorCheck, SandboxStatus } from "./Schemas.ts"
import { program } from "./Spec.ts"

/** A reason ends with what to change. */
const parted = (reason: string): { readonly why: string; readonly remedy: string } => {
  for (const mark of [". To change that: ", "; set "]) {
    const at = reason.indexOf(mark)
    if (at >= 0) {
      return { why: reason.slice(0, at), remedy: `${mark === "; set " ? "set " : ""}${reason.slice(at + mark.length)}` }
    }
  }
  return { why: reason, remedy: `${program} sandbox status says more` }
}

const check = (status: SandboxStatus): DoctorCheck => {
  const { effective_mode, enforcement, network, reason, refusal } = status
  if (refusal !== null) {
    const { remedy, why } = parted(refusal)
    return bad("sandbox", "sandbox", "error", `commands do not run: ${line(why, 1000)}`, line(remedy, 500))
  }
  if (enforcement === "off") {
    if (reason === null) return ok("sandbox", "sandbox", "off, as the settings say")
    const { remedy, why } = parted(reason)
    return bad("sandbox", "sandbox", "warning", `off: ${line(why, 1000)}`, line(remedy, 500))
  }
  if (enforcement === "path_check") {
    const { remedy, why } = parted(reason ?? "")
    return bad(
      "sandbox",
      "sandbox",
      "warning",
      `mode ${effective_mode}: file tools are checked, commands are not held back: ${line(why, 1000)}`,
      line(remedy, 500)
    )
  }
  return ok("sandbox", "sandbox", `mode ${effective_mode}, enforced through ${enforcement}, network ${network}`)
}

/** @since 0.1.0 @category constructors */
export const sandboxChecks: Effect.Effect<ReadonlyArray<DoctorCheck>, never, Sandbox> = Effect.map(
  document,
  (status) => [
    check(status),
    ...status.warnings.map((warning) =>
      bad("sandbox", "sandbox", "warning", line(warning, 1000), "docs/sandbox.md says what it means")
    )
  ]
)
