/**
 * What `hanzo-dev doctor` says of language servers: those that this project has files for. Nothing is started; `lsp doctor`
 * does.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { line } from "../codec/TerminalText.ts"
import { Lsp } from "../lsp/Lsp.ts"
import { bad, ok } from "./DoctorCheck.ts"
import type { DoctorCheck } from "./Schemas.ts"
import { program as name } from "./Spec.ts"

/** None where nobody gives the servers. @since 0.1.0 @category constructors */
export const serverChecks: Effect.Effect<ReadonlyArray<DoctorCheck>> = Effect.gen(function*() {
  const lsp = yield* Effect.serviceOption(Lsp)
  const checks = Option.isNone(lsp) ? [] : yield* lsp.value.doctor
  return checks.filter(({ wanted }) => wanted).map(({ install, languages, problem, program, server }) =>
    program !== null
      ? ok("language servers", server, line(program, 300))
      : bad(
        "language servers",
        server,
        "warning",
        `${languages}: ${install === null ? line(problem ?? "", 500) : "not installed"}`,
        install ?? `${name} lsp status says more`
      )
  )
})
