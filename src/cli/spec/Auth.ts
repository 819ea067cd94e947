/**
 * `hanzo-dev auth ...`: keys and logins.
 *
 * @since 0.1.0
 */
import { directory, json } from "./Shared.ts"
import type { CommandSpec } from "./Types.ts"

const provider = {
  name: "provider",
  optional: true,
  description: "Name of the provider, for example hanzo, anthropic, openai, or one of your settings."
} as const

/** @since 0.1.0 @category constants */
export const authLogin = {
  path: ["auth", "login"],
  summary: "Log in at a provider, in the browser unless said otherwise, or store an API key.",
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
    {
      kind: "flag",
      name: "api-key",
      description: "Store an API key in your settings: typed unseen, or read from stdin."
    },
    { kind: "flag", name: "no-browser", description: "Open no browser; the address is shown." }
  ],
  args: [provider],
  excludes: [
    ["device", "paste"],
    ["device", "api-key"],
    ["paste", "api-key"],
    ["api-key", "no-browser"]
  ],
  too_many: "a key is typed unseen or read from stdin, never an argument"
} as const satisfies CommandSpec

/** @since 0.1.0 @category constants */
export const authLogout = {
  path: ["auth", "logout"],
  summary: "Forget a login, after telling the server that it is no longer good.",
  options: [{ kind: "flag", name: "all", alias: "a", description: "Forget every login." }],
  args: [provider]
} as const satisfies CommandSpec

/** @since 0.1.0 @category constants */
export const authStatus = {
  path: ["auth", "status"],
  summary: "Show keys and logins, without showing one: where from, until when, and which is used.",
  options: [directory, json],
  args: []
} as const satisfies CommandSpec

/** @since 0.1.0 @category constants */
export const authRefresh = {
  path: ["auth", "refresh"],
  summary: "Refresh logins now, due or not.",
  options: [],
  args: [provider]
} as const satisfies CommandSpec

/** @since 0.1.0 @category constants */
export const authToken = {
  path: ["auth", "token"],
  summary: "Print the key or token that a request would carry now, for scripts; refreshed when due.",
  options: [directory],
  args: [provider]
} as const satisfies CommandSpec
