/**
 * How this program presents itself to MCP servers.
 *
 * @since 0.1.0
 */
declare const __HANZO_VERSION__: string | undefined

/** @since 0.1.0 @category constants */
export const clientInfo = {
  name: "hanzo-dev",
  version: typeof __HANZO_VERSION__ === "string" ? __HANZO_VERSION__ : "0.0.0"
} as const
