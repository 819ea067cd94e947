/**
 * What a child process may know of our environment (reading 0, G6): everything but credentials.
 *
 * @since 0.1.0
 */

/** Variables that carry a credential under a name that does not say so. */
const named: ReadonlySet<string> = new Set([
  "AWS_ACCESS_KEY_ID",
  "AWS_CONTAINER_AUTHORIZATION_TOKEN",
  "DOCKER_AUTH_CONFIG",
  "MYSQL_PWD",
  "NPM_CONFIG__AUTH",
  "PGPASSWORD",
  "REDISCLI_AUTH",
  "SSHPASS"
])

/** The last word of a name that means a secret: `GH_TOKEN`, `TOKEN`, `DB_PASSWORD_2`, `npm_config_//host/:_authToken`. */
const secret = new RegExp(
  "(^|[^A-Z0-9])(" + [
    "(API|APP|ACCESS|AUTH|PRIVATE|SECRET|SIGNING|ENCRYPTION|MASTER|LICENSE)?_?KEYS?",
    "(AUTH|ACCESS|REFRESH|BEARER)?_?TOKEN",
    "SECRETS?",
    "PASS(WORD|WD|PHRASE|CODE)?",
    "CREDENTIALS?",
    "CREDS",
    "COOKIES?",
    "AUTHORIZATION",
    "PAT",
    "PIN"
  ].join("|") + ")([_-]?[0-9]+)?$",
  "u"
)

/**
 * Does this variable carry a credential by its name? Provider keys, `HANZO_*` secrets, tokens, passwords, cloud keys.
 * Addresses, paths and agent sockets (`SSH_AUTH_SOCK`) are none.
 *
 * @since 0.1.0
 * @category combinators
 */
export const isCredentialVariable = (name: string): boolean => {
  const upper = name.toUpperCase()
  return named.has(upper) || secret.test(upper) || /^HANZO_(OAUTH|AUTH|CREDENTIALS?|SECRETS?|TOKENS?)(_|$)/u.test(upper)
}

/**
 * The environment for a child: `vars` without credentials and without `drop` (names of key variables that the settings
 * give), with `set` over it. A name in `set` always reaches the child: its definition names it.
 *
 * @since 0.1.0
 * @category constructors
 */
export const childEnvironment = (
  vars: ReadonlyMap<string, string>,
  options: { readonly drop?: Iterable<string>; readonly set?: Readonly<Record<string, string>> } = {}
): ReadonlyMap<string, string> => {
  const dropped = new Set(options.drop)
  const env = new Map<string, string>()
  for (const [name, value] of vars) {
    if (!dropped.has(name) && !isCredentialVariable(name)) env.set(name, value)
  }
  for (const [name, value] of Object.entries(options.set ?? {})) env.set(name, value)
  return env
}
