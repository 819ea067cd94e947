/** `/lsp` and `/lsp restart SERVER`. @since 0.1.0 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { line } from "../../codec/TerminalText.ts"
import { Workspace } from "../../domain/Workspace.ts"
import { Lsp, type ServerStatus } from "../../lsp/Lsp.ts"
import { columns } from "../Output.ts"
import { program } from "../Spec.ts"
import type { Talk } from "./Slash.ts"

const words = ({ error, fix, open_documents, phase }: ServerStatus): string => {
  if (error !== null) return line(fix === null || error.includes(fix) ? error : `${error} (${fix})`, 1_000)
  return phase === "ready" ? `${open_documents} ${open_documents === 1 ? "file" : "files"} open` : ""
}

/** @since 0.1.0 @category combinators */
export const lsp = (argument: string, talk: Pick<Talk, "say">) =>
  Effect.gen(function*() {
    const found = yield* Effect.serviceOption(Lsp)
    if (Option.isNone(found)) return yield* talk.say("there are no language servers here\n")
    const { root: workspace } = yield* Workspace
    const { restart, status } = found.value
    const [word = "", server = ""] = argument.split(/\s+/)
    if (word === "restart" && server !== "") {
      if (!(yield* restart(server))) return yield* talk.say(`no language server ${line(server, 60)} is known\n`)
      return yield* talk.say(`${line(server, 60)} starts anew with the next file of its kind\n`)
    }
    if (word !== "") {
      return yield* talk.say("/lsp shows the language servers, /lsp restart SERVER starts one anew\n")
    }
    const servers = yield* status
    yield* talk.say(
      servers.length === 0
        ? `no language server has been needed yet; ${program} lsp status says which serve this project\n`
        : columns(servers.map((one) => [
          one.server,
          one.phase.replaceAll("_", " "),
          one.root === workspace ? "." : line(one.root.replace(`${workspace}/`, ""), 300),
          words(one)
        ]))
    )
  })
