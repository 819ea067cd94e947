/**
 * `hanzo-dev mcp auth SERVER` on the command line.
 *
 * @since 0.1.0
 */
import { directory } from "./Shared.ts"
import type { CommandSpec } from "./Types.ts"

/** @since 0.1.0 @category constants */
export const mcpAuth = {
  path: ["mcp", "auth"],
  summary: "Log in at an MCP server over HTTP, in the browser unless said otherwise; or forget that login.",
  options: [
    {
      kind: "flag",
      name: "device",
      description: "Show a code to type on any device, instead of using a browser here."
    },
    {
      kind: "flag",
      name: "paste",
      description: "Open nothing; log in anywhere and paste the address that the browser ends at."
    },
    { kind: "flag", name: "no-browser", description: "Open no browser; the address is shown." },
    {
      kind: "text",
      name: "scope",
      value: "SCOPE",
      repeat: true,
      description: "Ask for this too, beside what the server names."
    },
    {
      kind: "flag",
      name: "logout",
      description: "Forget the login, after telling its issuer that it is no longer good."
    },
    directory
  ],
  args: [{ name: "name", description: "Name of the server in the settings." }],
  excludes: [
    ["device", "paste"],
    ["device", "no-browser"],
    ["logout", "device"],
    ["logout", "paste"],
    ["logout", "no-browser"],
    ["logout", "scope"]
  ]
} as const satisfies CommandSpec
