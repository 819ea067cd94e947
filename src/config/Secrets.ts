/**
 * Which values of the settings are secrets (reading G2), and how a setting is shown without them.
 *
 * @since 0.1.0
 */

import type { HanzoConfig } from "./Schema.ts"

/** Members whose values may all be secrets. */
const secretMaps: ReadonlySet<string> = new Set(["env", "headers", "oauth_credentials"])

const secretWord = /(?:^|_|-)(?:api_?key|key|token|secret|password|passwd|credentials?|authorization|auth|cookie)$/i

/** Names that end like a secret and are none. */
const harmless: ReadonlySet<string> = new Set(["auth", "api_key_env"])

/** @since 0.1.0 @category combinators */
export const isSecretName = (name: string): boolean => !harmless.has(name) && secretWord.test(name)

/** A text without the user and password of an address and without secrets among its parameters. @since 0.1.0 @category encoding */
export const withoutUserInfo = (text: string): string =>
  text.replace(/([a-z][a-z0-9+.-]*:\/\/)[^/?#@\s]*@/gi, "$1***@").replaceAll(
    /([?&][^=&#\s]*(?:key|token|secret|password)[^=&#\s]*=)[^&#\s]*/gi,
    "$1***"
  )

/**
 * The value with every secret replaced by what `of` says about its dotted path. In `env`, `headers` and
 * `oauth_credentials` everything is a secret; elsewhere the names decide.
 *
 * @since 0.1.0
 * @category encoding
 */
export const masked = (value: unknown, path: ReadonlyArray<string>, of: (path: string) => string): unknown => {
  const name = path.at(-1) ?? ""
  if (value === null || value === undefined || value === "") return value
  const inSecretMap = path.slice(0, -1).some((part) => secretMaps.has(part))
  if (typeof value !== "object") {
    return inSecretMap || isSecretName(name)
      ? of(path.join("."))
      : typeof value === "string"
      ? withoutUserInfo(value)
      : value
  }
  if (path.join(".") === "oauth_credentials") return Object.keys(value).length === 0 ? value : of(path.join("."))
  if (Array.isArray(value)) return value.map((item, index) => masked(item, [...path, String(index)], of))
  const object: Record<string, unknown> = Object.create(null)
  for (const [key, member] of Object.entries(value)) object[key] = masked(member, [...path, key], of)
  return object
}

/**
 * The variables that the settings name as holding a secret, whatever they are called: keys of providers, client secrets
 * of logins, and of servers of tools client secrets, private keys and assertions. No child process gets them (G6).
 *
 * @since 0.1.0
 * @category combinators
 */
export const secretVariables = (
  { auth, mcp_servers, providers }: Pick<HanzoConfig, "auth" | "mcp_servers" | "providers">
): ReadonlyArray<string> => [
  ...Object.values(providers).flatMap(({ api_key_env }) => api_key_env ?? []),
  ...Object.values(auth.providers).flatMap(({ client_secret_env }) => client_secret_env ?? []),
  ...Object.values(mcp_servers).flatMap(({ oauth }) =>
    [
      oauth?.client_secret_env,
      oauth?.client_key_env,
      oauth?.assertion_env,
      oauth?.identity_provider?.client_secret_env,
      oauth?.identity_provider?.client_key_env
    ].filter((name) => name !== undefined)
  )
]
