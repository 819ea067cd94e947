/**
 * `hanzo-dev mcp serve`: our tools for another agent, on stdin and stdout. stdout carries the protocol and nothing else.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { Ids } from "../domain/Ids.ts"
import { ToolExecutor } from "../domain/ToolExecutor.ts"
import { ExitCode } from "../domain/Failure.ts"
import { Workspace } from "../domain/Workspace.ts"
import { serve } from "../mcpserver/McpServer.ts"
import { Terminal, TerminalError } from "../platform/Terminal.ts"
import { failed } from "./Exit.ts"
import { soundConfig } from "./Output.ts"
import type * as Spec from "./Spec.ts"
import { warnUntrusted } from "./TrustQuestion.ts"
import { version } from "./Version.ts"

/** @since 0.1.0 @category combinators */
export const execute = (values: Spec.Values<typeof Spec.mcpServe>) =>
  Effect.scoped(Effect.gen(function*() {
    yield* soundConfig
    yield* warnUntrusted
    const terminal = yield* Terminal
    const tools = yield* ToolExecutor
    const ids = yield* Ids
    const { cwd, root } = yield* Workspace
    const end = yield* serve<TerminalError>({
      incoming: terminal.bytes,
      write: terminal.out,
      onFault: (message) => new TerminalError({ reason: "too_large", message }),
      tools,
      ids,
      permission_mode: values["permission-mode"] ?? "default",
      info: { name: "hanzo-dev", version },
      instructions: `Tools for the files of ${root}${
        cwd === root ? "" : ` (relative paths start at ${cwd})`
      }. What the user's rules do not allow is refused: read the reason, do not repeat the call.`
    })
    if (end !== null && end.reason !== "closed") {
      return yield* failed(`the client cannot be served any more: ${end.message}`)
    }
    return ExitCode.done
  }))
