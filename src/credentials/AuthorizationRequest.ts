/**
 * The authorization request: its parameters, and the address they make (RFC 6749, section 4.1.1; RFC 7636, 8707, 9126).
 *
 * @since 0.1.0
 */

/** @since 0.1.0 @category models */
export interface RequestParameters {
  readonly client_id: string
  readonly redirect_uri: string
  readonly scopes: ReadonlyArray<string>
  readonly state: string
  readonly challenge: string
  readonly resource?: string
  /** Anything else; what the flow itself sends cannot be replaced by it. */
  readonly extra?: Readonly<Record<string, string>>
}

/** Would change how the answer comes back, or what is asked. */
const reserved: ReadonlySet<string> = new Set(["response_mode", "request", "request_uri", "redirect_uri"])

/** @since 0.1.0 @category encoding */
export const requestParameters = (input: RequestParameters): URLSearchParams => {
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries(input.extra ?? {})) if (!reserved.has(name)) parameters.set(name, value)
  parameters.set("response_type", "code")
  parameters.set("client_id", input.client_id)
  parameters.set("redirect_uri", input.redirect_uri)
  if (input.scopes.length > 0) parameters.set("scope", input.scopes.join(" "))
  parameters.set("state", input.state)
  parameters.set("code_challenge", input.challenge)
  parameters.set("code_challenge_method", "S256")
  if (input.resource !== undefined) parameters.set("resource", input.resource)
  return parameters
}

/** The endpoint with the parameters; a query it has itself is kept (RFC 6749, section 3.1). @since 0.1.0 @category encoding */
export const requestAddress = (endpoint: string, parameters: URLSearchParams): string => {
  const url = new URL(endpoint)
  for (const [name, value] of parameters) url.searchParams.set(name, value)
  url.hash = ""
  return url.href
}
