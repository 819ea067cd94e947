/** `/mcp` and `/mcp restart SERVER`. @since 0.1.0 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { line } from "../../codec/TerminalText.ts"
import { McpAccess } from "../../tools/McpAccess.ts"
import * as McpText from "../McpText.ts"
import type { Talk } from "./Slash.ts"

/** @since 0.1.0 @category combinators */
export const mcp = (argument: string, talk: Talk) =>
  Effect.gen(function*() {
    const access = yield* Effect.serviceOption(McpAccess)
    if (Option.isNone(access)) return yield* talk.say("there are no MCP servers here\n")
    const { prompts, restart, status } = access.value
    // a name may hold blanks
    const [, word = "", server = ""] = /^(\S*)\s*([^]*)$/u.exec(argument.trim()) ?? []
    if (word === "restart" && server !== "") {
      if (!(yield* restart(server))) return yield* talk.say(`no MCP server ${line(server, 60)} is active here\n`)
    } else if (word !== "") return yield* talk.say("/mcp shows the servers, /mcp restart SERVER connects one anew\n")
    yield* talk.say(McpText.serversText(yield* status, yield* prompts, talk.style))
  })
