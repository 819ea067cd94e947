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
  "OTEL_EXPORTER_OTLP_HEADERS",
  "OTEL_EXPORTER_OTLP_LOGS_HEADERS",
  "OTEL_EXPORTER_OTLP_METRICS_HEADERS",
  "OTEL_EXPORTER_OTLP_TRACES_HEADERS",
  "PGPASSWORD",
  "REDISCLI_AUTH",
  "SSHPASS",
  // What stands for a key: a program or a place that gives one to whoever asks.
  "GIT_ASKPASS",
  "SSH_ASKPASS",
  "SUDO_ASKPASS",
  "GPG_AGENT_INFO"
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
    "PIN",
    "JWTS?",
    "BEARER",
    "SK",
    "DSN",
    "OTP",
    "TOTP",
    "SEED_PHRASE",
    "MNEMONIC",
    "SAS(_URL|_URI)?",
    "WEBHOOKS?(_(URL|URI))?",
    "[A-Z0-9]*CONN(ECTION)?_?STR(ING)?S?"
  ].join("|") + ")([_-]?[0-9]+)?$",
  "u"
)

/** `scheme://user:password@host`, also inside of a longer text; a name alone (`ssh://git@host`) is none. */
const passwordInAddress = /[a-z][a-z0-9+.-]*:\/\/[^\s/?#:@]*:[^\s/?#@]+@/iu

/** Values that are a credential whatever the name: signed tokens, private keys, keys of known makers, connection strings. */
const secretValue = new RegExp(
  [
    "^(Bearer|Basic) \\S{8}",
    "\\beyJ[\\w-]{8,}\\.eyJ[\\w-]{8,}\\.",
    "-----BEGIN [A-Z ]*PRIVATE KEY-----",
    "^(sk|rk)_(live|test)_\\w{8}",
    "^sk-[\\w-]{16}",
    "^gh[opsur]_\\w{20}",
    "^github_pat_\\w{20}",
    "^glpat-[\\w-]{16}",
    "^xox[abeprs]-[\\w-]{8}",
    "^npm_\\w{20}",
    "^AIza[\\w-]{30}",
    "^(AKIA|ASIA)[A-Z0-9]{16}$",
    "(^|;)\\s*(Password|Pwd|AccountKey|SharedAccessKey|SharedAccessSignature)\\s*=\\s*[^;\\s]",
    "^https://hooks\\.slack\\.com/",
    "^https://(\\w+\\.)?discord(app)?\\.com/api/webhooks/"
  ].join("|"),
  "iu"
)

/**
 * Does this value carry a credential, whatever its name is? Only what is unmistakable.
 *
 * @since 0.1.0
 * @category combinators
 */
export const isCredentialValue = (value: string): boolean => passwordInAddress.test(value) || secretValue.test(value)

/**
 * Does this variable carry a credential by its name? Provider keys, `HANZO_*` secrets, tokens, passwords, cloud keys,
 * connection strings, webhooks, programs that give a password. Addresses, paths and agent sockets (`SSH_AUTH_SOCK`) are
 * none; what an address says is looked at apart (`isCredentialValue`).
 *
 * @since 0.1.0
 * @category combinators
 */
export const isCredentialVariable = (name: string): boolean => {
  const upper = name.toUpperCase()
  return named.has(upper) || secret.test(upper) || /^HANZO_(OAUTH|AUTH|CREDENTIALS?|SECRETS?|TOKENS?)(_|$)/u.test(upper)
}

/**
 * The environment for a child: `vars` without credentials, by name or by value, and without `drop` (names of key variables that the settings
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
    if (!dropped.has(name) && !isCredentialVariable(name) && !isCredentialValue(value)) env.set(name, value)
  }
  for (const [name, value] of Object.entries(options.set ?? {})) env.set(name, value)
  return env
}

/** Shorter values are words, not keys: masking them would garble every text. @since 0.1.0 @category constants */
export const shortestSecret = 8

/** A file's path is no secret, whatever the name of its variable; a key of 40 characters may begin with a slash. */
const isPath = (value: string): boolean =>
  /^(?:~|\.{0,2})\/[\w.@-]+(?:\/[\w.@-]*)+$/u.test(value) && value.length !== 40

/**
 * Values that must not pass on (G2): those of credential variables and of the variables `names`, and `values` (keys of
 * the settings); without white space around them, the longest first.
 *
 * @since 0.1.0
 * @category combinators
 */
export const knownSecrets = (
  vars: Iterable<readonly [string, string]>,
  more: { readonly names?: Iterable<string>; readonly values?: Iterable<string> } = {}
): ReadonlyArray<string> => {
  const named = new Set(more.names)
  const found = new Set<string>()
  for (const [name, value] of vars) {
    if (named.has(name) || isCredentialValue(value) || (isCredentialVariable(name) && !isPath(value.trim()))) {
      found.add(value.trim())
    }
  }
  for (const value of more.values ?? []) found.add(value.trim())
  return [...found].filter((value) => value.length >= shortestSecret).toSorted((a, b) => b.length - a.length)
}
