/**
 * `hanzo-dev mcp test`: connects to one server, shows what it offers, ends it. The only one of these commands that starts
 * anything.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { line } from "../codec/TerminalText.ts"
import { ExitCode } from "../domain/Failure.ts"
import * as Mcp from "../mcp/Mcp.ts"
import type { McpError } from "../mcp/McpError.ts"
import * as Remedy from "../mcp/Remedy.ts"
import { usage } from "./Exit.ts"
import { print, printJson, soundConfig, stdoutStyle } from "./Output.ts"
import type { McpTest } from "./McpSchemas.ts"
import { entryOf, logFile } from "./McpShow.ts"
import { logsText } from "./McpText.ts"
import type * as Spec from "./Spec.ts"

const look = (name: string, mcp: Mcp.McpService, log_file: string): Effect.Effect<McpTest> =>
  Effect.gen(function*() {
    const began = yield* Clock.currentTimeMillis
    const connected = yield* Effect.either(mcp.connect(name))
    const connect_ms = (yield* Clock.currentTimeMillis) - began
    const status = (yield* mcp.status).find(({ server }) => server === name)
    const base = {
      v: 1,
      server: name,
      phase: status?.phase ?? "failed",
      kind: status?.kind ?? null,
      connect_ms,
      log_file
    } as const
    if (connected._tag === "Left" || connected.right === null) {
      const error: McpError | null = connected._tag === "Left" ? connected.left : null
      return {
        ...base,
        era: null,
        version: null,
        server_info: null,
        ping_ms: null,
        tools: [],
        resources: [],
        templates: [],
        prompts: [],
        problems: [],
        error: status?.error ?? { code: error?.reason ?? "config", message: error?.message ?? `${name} cannot be used` }
      }
    }
    const connection = connected.right
    const ping = yield* Effect.either(connection.ping)
    const tools = yield* mcp.tools
    const collisions = yield* mcp.collisions
    const [found] = yield* Effect.orElseSucceed(mcp.resources(name), () => [])
    const prompts = yield* mcp.prompts
    return {
      ...base,
      era: connection.era,
      version: connection.version,
      server_info: connection.server_info,
      ping_ms: ping._tag === "Right" ? Duration.toMillis(ping.right) : null,
      tools: tools.map(({ description, name: offered, raw_name, read_only }) => ({
        name: offered,
        raw_name,
        description,
        read_only
      })),
      resources: found?.resources.map(({ uri }) => uri) ?? [],
      templates: found?.templates.map(({ uri_template }) => uri_template) ?? [],
      prompts: [...prompts.byName.keys()],
      problems: [
        ...(status?.error === undefined ? [] : [status.error.message]),
        ...(found === undefined || found.problem === null ? [] : [found.problem.message]),
        ...(ping._tag === "Left" ? [ping.left.message] : []),
        ...collisions.map(({ name: shared, tools: members }) =>
          `tool_name_collision: ${shared}: ${members.map(({ tool }) => tool).join(", ")}`
        )
      ],
      error: null
    }
  })

/** @since 0.1.0 @category combinators */
export const execute = (values: Spec.Values<typeof Spec.mcpTest>) =>
  Effect.gen(function*() {
    const config = yield* soundConfig
    const style = yield* stdoutStyle
    const entry = yield* entryOf(config, values.args[0] ?? "")
    const { name } = entry
    if (entry.status !== "enabled") {
      return yield* usage(
        `the MCP server ${line(name, 100)} is ${entry.status}`,
        ...(entry.reason === null
          ? entry.status === "disabled" ? [`${Remedy.command("enable", name)} switches it on`] : []
          : [entry.reason])
      )
    }
    const log_file = yield* logFile(name)
    const world = yield* Mcp.plainWorld
    // only this one: what the others do is not asked
    const document = yield* Effect.scoped(
      Effect.flatMap(
        Mcp.make({ ...world, config: { ...config, mcp_servers: [name] } }),
        (mcp) => look(name, mcp, log_file)
      )
    )
    if (values.json) yield* printJson(document)
    else if (document.error !== null) {
      yield* print(
        `${line(name, 100)}: ${style.red(line(document.phase, 40))}\n  ${line(document.error.message, 2_000)}\n` +
          (entry.file === null ? "" : `  it is defined in ${line(entry.file, 500)}:${entry.line ?? 1}\n`) +
          logsText(name, entry.kind, document.error.code)
      )
    } else {
      const part = (title: string, all: ReadonlyArray<string>): ReadonlyArray<string> =>
        all.length === 0 ? [] : [`  ${title}`, ...all.map((each) => `    ${line(each, 200)}`)]
      yield* print(
        [
          `${line(name, 100)}: ${
            style.green("ready")
          } in ${document.connect_ms} ms, ${document.version} (${document.era})${
            document.server_info === null
              ? ""
              : `, ${line(`${document.server_info.name} ${document.server_info.version}`, 100)}`
          }`,
          ...part(
            `${document.tools.length} tools`,
            document.tools.map((tool) => `${tool.name}  ${tool.description.split("\n")[0] ?? ""}`)
          ),
          ...part("resources", document.resources),
          ...part("resource templates", document.templates),
          ...part("prompts", document.prompts.map((each) => `/${each}`)),
          ...part("problems", document.problems),
          ""
        ].join("\n")
      )
    }
    return document.error === null ? ExitCode.done : ExitCode.failed
  })
