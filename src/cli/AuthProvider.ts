/**
 * At which provider `hanzo-dev auth login` logs in.
 *
 * @since 0.1.0
 */
import { line } from "../codec/TerminalText.ts"
import type { HanzoConfig } from "../config/Schema.ts"
import { nameProblem } from "../credentials/CredentialFile.ts"
import { type CliExit, usage } from "./Exit.ts"
import type * as Spec from "./Spec.ts"

/** Whoever is named; else the only provider with a login in the settings, else hanzo. @since 0.1.0 @category combinators */
export const providerOf = (values: Spec.Values<typeof Spec.authLogin>, config: HanzoConfig): string | CliExit => {
  const [given] = values.args
  const named = Object.keys(config.auth.providers)
  if (given !== undefined) {
    const problem = nameProblem(given)
    return problem === null ? given : usage(problem)
  }
  if (values["api-key"]) {
    return usage("name the provider whose key it is", "for example: hanzo-dev auth login anthropic --api-key")
  }
  return named.length > 1
    ? usage("several logins are set up: name one", `set up: ${line(named.join(", "), 500)}`)
    : named[0] ?? "hanzo"
}
