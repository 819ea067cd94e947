/**
 * The last look at what goes to the log or to stderr when the program breaks (G2): values of credential variables become
 * `[redacted]`, whoever let them into the text.
 *
 * @since 0.1.0
 */
import { without } from "../codec/SecretForms.ts"
import { knownSecrets } from "./ChildEnvironment.ts"

/** Looks for secrets only when the first text comes. @since 0.1.0 @category constructors */
export const redactor = (vars: Iterable<readonly [string, string]>): (text: string) => string => {
  let clean: ((text: string) => string) | undefined
  return (text) => {
    clean ??= without(knownSecrets(vars))
    return clean(text)
  }
}
