/**
 * What a server of the settings is doing (HIP-301 section 1: `McpServerState`).
 *
 * @since 0.1.0
 */
import type { McpServerInfo } from "./Connection.ts"
import type { McpError } from "./McpError.ts"
import type { McpEra } from "./Transport.ts"

/**
 * | phase | meaning |
 * | --- | --- |
 * | `disabled` | the settings switch it off |
 * | `untrusted` | it belongs to a workspace that is not trusted |
 * | `idle` | no prompt has needed it yet |
 * | `connecting` | it starts, or starts again |
 * | `ready` | its tools can be called |
 * | `closed` | its connection has ended; the next call connects again |
 * | `failed` | it could not be connected to; `error` says why |
 * | `needs_login` | a login is needed first |
 *
 * @since 0.1.0
 * @category models
 */
export type McpPhase =
  | "disabled"
  | "untrusted"
  | "idle"
  | "connecting"
  | "ready"
  | "closed"
  | "failed"
  | "needs_login"

/** `error` beside `ready`: a list of the server ended early (1.11). @since 0.1.0 @category models */
export interface McpServerState {
  readonly phase: McpPhase
  readonly era?: McpEra
  /** The revision in force. */
  readonly version?: string
  readonly server_info?: McpServerInfo
  /** Tools that it offers; those that the settings leave out are not counted. */
  readonly tools: number
  readonly error?: { readonly code: string; readonly message: string }
}

/** @since 0.1.0 @category models */
export interface McpServerStatus extends McpServerState {
  readonly server: string
  readonly kind: "stdio" | "http" | "sse" | null
  readonly required: boolean
}

/** @since 0.1.0 @category constructors */
export const problemOf = ({ message, reason }: McpError): { readonly code: string; readonly message: string } => ({
  code: reason,
  message
})

/** Trying again cannot help: the definition or the other side has to change first. @since 0.1.0 @category combinators */
export const isFinal = ({ reason }: McpError): boolean =>
  reason === "config" || reason === "unsupported_protocol_version" || reason === "needs_login"
