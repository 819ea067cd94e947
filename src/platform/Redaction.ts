/**
 * The last look at what goes to the log or to stderr when the program breaks (G2): values of credential variables become
 * `[redacted]`, whoever let them into the text.
 *
 * @since 0.1.0
 */
import { knownSecrets } from "./ChildEnvironment.ts"

/** Looks for secrets only when the first text comes. @since 0.1.0 @category constructors */
export const redactor = (vars: Iterable<readonly [string, string]>): (text: string) => string => {
  let forms: ReadonlyArray<string> | undefined
  return (text) => {
    forms ??= [
      ...new Set(
        knownSecrets(vars).flatMap((
          secret
        ) => [secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)])
      )
    ].toSorted((a, b) => b.length - a.length)
    return forms.reduce((clean, form) => clean.replaceAll(form, "[redacted]"), text)
  }
}
