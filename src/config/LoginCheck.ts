/**
 * What holds between the keys of `mcp_servers.*.oauth`: which way to a token needs what, and what says the same twice.
 *
 * @since 0.1.0
 */

/** The keys that are there and not null, in snake_case. */
type Given = ReadonlySet<string>

/** `key` is the one to point at; empty = the object itself. @since 0.1.0 @category models */
export interface Complaint {
  readonly key: string
  readonly message: string
}

/** Where an assertion can come from. @since 0.1.0 @category constants */
const assertionKeys = ["assertion_file", "assertion_env", "assertion_command"] as const
const keyKeys = ["client_key_file", "client_key_env"] as const
const secretKeys = ["client_secret_env", ...keyKeys] as const

const listed = (keys: ReadonlyArray<string>): string => `${keys.slice(0, -1).join(", ")} or ${keys.at(-1) ?? ""}`

const twice = (given: Given, keys: ReadonlyArray<string>): ReadonlyArray<Complaint> => {
  const [first, second] = keys.filter((key) => given.has(key))
  return first === undefined || second === undefined
    ? []
    : [{ key: second, message: `has both ${first} and ${second}; keep the one that is meant` }]
}

/** A client of its own: one way to show who it is, and its name. */
const clientComplaints = (given: Given): ReadonlyArray<Complaint> => {
  const shows = secretKeys.find((key) => given.has(key))
  return [
    ...twice(given, secretKeys),
    ...shows !== undefined && !given.has("client_id")
      ? [{ key: shows, message: `has ${shows} without client_id, whose it is` }]
      : [],
    ...given.has("client_key_id") && !keyKeys.some((key) => given.has(key))
      ? [{ key: "client_key_id", message: `has client_key_id without a key; set ${listed(keyKeys)}` }]
      : []
  ]
}

/**
 * The complaints about `oauth`. `grant` is null where it is not a known one, which is complained about elsewhere.
 *
 * @since 0.1.0
 * @category combinators
 */
export const loginComplaints = (given: Given, grant: string | null): ReadonlyArray<Complaint> => {
  if (grant === null) return []
  const asserts = grant === "jwt_bearer" || grant === "enterprise"
  const needs = (key: string): ReadonlyArray<Complaint> =>
    given.has(key) ? [] : [{ key: "grant", message: `.grant "${grant}" needs ${key}` }]
  return [
    ...clientComplaints(given),
    ...twice(given, assertionKeys),
    ...grant === "client_credentials" || grant === "enterprise" ? needs("client_id") : [],
    ...grant === "client_credentials" && !secretKeys.some((key) => given.has(key))
      ? [{ key: "grant", message: `.grant "${grant}" needs ${listed(secretKeys)}` }]
      : [],
    ...assertionKeys.some((key) => given.has(key)) === asserts
      ? []
      : asserts
      ? [{ key: "grant", message: `.grant "${grant}" needs ${listed(assertionKeys)}` }]
      : assertionKeys.filter((key) => given.has(key)).map((key) => ({
        key,
        message: `has ${key}, which only the grants "jwt_bearer" and "enterprise" use; set grant`
      })),
    ...given.has("identity_provider") === (grant === "enterprise")
      ? []
      : grant === "enterprise"
      ? needs("identity_provider")
      : [{
        key: "identity_provider",
        message: `has identity_provider, which only the grant "enterprise" uses; set grant`
      }]
  ]
}

/** The complaints about `oauth.identity_provider`. @since 0.1.0 @category combinators */
export const identityComplaints = (given: Given): ReadonlyArray<Complaint> => [
  ...clientComplaints(given),
  ...given.has("issuer") || given.has("token_endpoint")
    ? []
    : [{ key: "", message: "needs issuer or token_endpoint" }],
  ...given.has("client_id") ? [] : [{ key: "", message: "needs client_id" }]
]
