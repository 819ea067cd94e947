/**
 * Tools of MCP servers as tools of ours: results (reading 1.12), the three tools about servers (2.10), prompts and
 * mentions (1.14). Loaded when a server is first needed.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { line } from "../codec/TerminalText.ts"
import type { Message, Part } from "../domain/Message.ts"
import { text as textPart, textOf } from "../domain/MessageParts.ts"
import { typedIn } from "../domain/Piped.ts"
import { success } from "../domain/ToolExecutor.ts"
import type { ToolResult } from "../domain/Tool.ts"
import * as Arguments from "../mcp/Arguments.ts"
import type { McpPromptDefinition, McpToolDefinition } from "../mcp/Catalogue.ts"
import { collisionText } from "../mcp/Catalogue.ts"
import * as Contents from "../mcp/Contents.ts"
import type { McpService } from "../mcp/Mcp.ts"
import type { McpError } from "../mcp/McpError.ts"
import type { Expansion, McpAccessService } from "./McpAccess.ts"
import type { McpToolsService } from "./McpTools.ts"
import { nearest } from "./Nearest.ts"
import type { OutputFilesService } from "./OutputFiles.ts"
import { makeRecorder } from "./Recorder.ts"
import { search } from "./McpSearch.ts"
import { type NativeTool, ToolFailure, type ToolRun } from "./Tool.ts"

/**
 * Servers' tools are listed to the model as long as they are at most so many, and their descriptions and schemas at most
 * so many characters of JSON; beyond that `mcp_search` stands for those that were not searched for.
 *
 * @since 0.1.0
 * @category constants
 */
export const listing = { tools: 40, characters: 48_000 } as const

/** Values that are named for an argument that is missing, and how long the server has to name them. */
const maxSuggestions = 20
const suggestionLimit = Duration.seconds(3)

/** Of the instructions of one server, in characters. */
const maxInstructions = 2_000

const failed = (error: McpError): ToolFailure => new ToolFailure({ message: error.message })

/** Long texts go to a file, as those of native tools do. */
const recorded = (files: OutputFilesService, run: ToolRun, output: string) =>
  Effect.scoped(Effect.gen(function*() {
    const recorder = yield* makeRecorder(files, run)
    yield* recorder.push(new TextEncoder().encode(output))
    yield* recorder.end
    return yield* recorder.result
  }))

/** @since 0.1.0 @category models */
export interface Bridge {
  readonly tools: Required<Omit<McpToolsService, "native">>
  readonly access: McpAccessService
  readonly searchTools: (query: string) => Effect.Effect<ToolResult>
  readonly listResources: (server: string | undefined, run: ToolRun) => Effect.Effect<ToolResult, ToolFailure>
  readonly readResource: (uri: string, run: ToolRun) => Effect.Effect<ToolResult, ToolFailure>
}

/** @since 0.1.0 @category constructors */
export const make = (mcp: McpService, files: OutputFilesService): Bridge => {
  const made = new WeakMap<McpToolDefinition, NativeTool>()
  /** Tools that a search has found stay listed, in the order in which they were found. */
  const revealed = new Set<string>()

  const call = (tool: McpToolDefinition, input: Readonly<Record<string, unknown>>, run: ToolRun) =>
    Effect.gen(function*() {
      const result = yield* Effect.mapError(
        mcp.call(tool, input, {
          session_id: run.session_id,
          call_id: run.call_id,
          mode: run.mode ?? "default",
          report: run.report ?? (() => Effect.void),
          emit: run.emit
        }),
        failed
      )
      const { output: text, parts } = Contents.ofResult(result)
      const { output, truncated } = yield* recorded(
        files,
        run,
        result.schema_problem === null
          ? text
          : `${text}${
            text === "" ? "" : "\n"
          }[the tool's structured content is not what it declares: ${result.schema_problem}]`
      )
      const extra = {
        ...(parts.length === 0 ? {} : { parts }),
        ...(truncated === undefined ? {} : { truncated })
      }
      return result.is_error
        ? {
          output,
          error: output === "" ? `${tool.name} failed without saying why` : output,
          is_error: true,
          ...extra
        } satisfies ToolResult
        : { output, error: null, is_error: false, ...extra } satisfies ToolResult
    })

  const nativeOf = (tool: McpToolDefinition): NativeTool => {
    const known = made.get(tool)
    if (known !== undefined) return known
    const native: NativeTool = {
      definition: { name: tool.name, description: tool.description, input_schema: tool.input_schema },
      kind: "other",
      read_only: tool.read_only,
      ...(tool.shared_name === null ? {} : { other_names: [tool.shared_name] }),
      prepare: (input) =>
        Effect.succeed({
          subjects: [],
          inside_workspace: false,
          run: (run) => call(tool, input, run)
        })
    }
    made.set(tool, native)
    return native
  }

  const isDeferred = (tools: ReadonlyArray<McpToolDefinition>): boolean => {
    if (tools.length > listing.tools) return true
    let size = 0
    for (const tool of tools) size += sizeOf(tool)
    return size > listing.characters
  }

  const withheld = Effect.gen(function*() {
    const tools = yield* mcp.tools
    const names = new Set<string>()
    if (isDeferred(tools)) {
      for (const { name } of tools) if (!revealed.has(name)) names.add(name)
    } else names.add("mcp_search")
    const someResources = (yield* mcp.status).some(({ phase, server }) =>
      phase === "ready" && mcp.offersResources(server)
    )
    if (!someResources) {
      names.add("mcp_resources")
      names.add("mcp_read")
    }
    return names
  })

  const searchTools: Bridge["searchTools"] = (query) =>
    Effect.map(mcp.tools, (tools) => {
      const found = search(query, tools)
      for (const { name } of found) revealed.add(name)
      return success(
        found.length === 0
          ? `no tool of a server is about ${JSON.stringify(query)}; there are ${tools.length} of ${
            new Set(tools.map(({ server }) => server)).size
          } servers: ${[...new Set(tools.map(({ server }) => server))].join(", ")}`
          : `${
            found.map((tool) => `${tool.name}: ${tool.description}\n  input: ${JSON.stringify(tool.input_schema)}`)
              .join("\n\n")
          }\n\nThese tools can be called now.`
      )
    })

  const listResources: Bridge["listResources"] = (server, run) =>
    Effect.gen(function*() {
      const all = yield* Effect.mapError(mcp.resources(server), failed)
      const lines = all.flatMap(({ problem, resources, server: name, templates }) => [
        ...resources.map((each) =>
          `${name}:${each.uri}${each.name === "" ? "" : `  ${line(each.title ?? each.name, 100)}`}${
            each.mime_type === undefined ? "" : ` (${each.mime_type})`
          }${each.description === undefined ? "" : ` - ${line(each.description, 200)}`}`
        ),
        ...templates.map((each) =>
          `${name}:${each.uri_template}  (template) ${line(each.title ?? each.name, 100)}${
            each.description === undefined ? "" : ` - ${line(each.description, 200)}`
          }`
        ),
        ...(problem === null ? [] : [`[${name}: ${line(problem.message, 500)}]`])
      ])
      const { output, truncated } = yield* recorded(
        files,
        run,
        lines.length === 0 ? "no server has resources" : lines.join("\n")
      )
      return { ...success(output), ...(truncated === undefined ? {} : { truncated }) }
    })

  const readResource: Bridge["readResource"] = (uri, run) =>
    Effect.gen(function*() {
      const { contents } = yield* Effect.mapError(mcp.read(uri), failed)
      const { output: text, parts } = Contents.ofResource(contents)
      const { output, truncated } = yield* recorded(files, run, text)
      return {
        ...success(output === "" && parts.length === 0 ? "(empty resource)" : output),
        ...(parts.length === 0 ? {} : { parts }),
        ...(truncated === undefined ? {} : { truncated })
      }
    })

  /** What the server would take for an argument, in words; nothing where it suggests nothing. */
  const suggested = (
    prompt: McpPromptDefinition,
    argument: string,
    given: { readonly [name: string]: string }
  ): Effect.Effect<string> =>
    mcp.complete(prompt, { name: argument, value: "" }, given).pipe(
      Effect.timeout(suggestionLimit),
      Effect.map(({ has_more, values }) =>
        values.length === 0
          ? ""
          : `; ${argument} may be ${values.slice(0, maxSuggestions).map((value) => line(value, 80)).join(", ")}${
            has_more || values.length > maxSuggestions ? ", ..." : ""
          }`
      ),
      Effect.orElseSucceed(() => "")
    )

  /** A prompt of a server in place of its command. */
  const asCommand = ({ name, rest }: Arguments.PromptCommand): Effect.Effect<Expansion> =>
    Effect.gen(function*() {
      const { byName, collisions } = yield* mcp.prompts
      const found = byName.get(name)
      if (found === undefined) {
        const collision = collisions.get(name)
        if (collision !== undefined) return { refusal: collisionText(collision) }
        const near = nearest(name, [...byName.keys()])
        return {
          refusal: `no MCP server has a prompt /${name}${
            near.length > 0
              ? `; did you mean /${near.join(" or /")}?`
              : byName.size === 0
              ? ""
              : `; there are /${[...byName.keys()].slice(0, 20).join(", /")}`
          }`
        }
      }
      const args = Arguments.promptArguments(found.prompt, rest)
      if ("why" in args) {
        const suggestions = yield* Effect.forEach(
          args.missing ?? [],
          (argument) => suggested(found, argument, args.given ?? {}),
          { concurrency: 4 }
        )
        return { refusal: `/${name}: ${args.why}${suggestions.join("")}` }
      }
      const got = yield* Effect.either(mcp.prompt(found, args.ok))
      if (got._tag === "Left") return { refusal: got.left.message }
      const content = Contents.ofPrompt(got.right)
      return content.length === 0
        ? { refusal: `/${name}: the server gave an empty prompt` }
        : { content, problems: [] }
    })

  const withMentions = (content: string | ReadonlyArray<Part>): Effect.Effect<Expansion> =>
    Effect.gen(function*() {
      const message: Message = { role: "user", content }
      const typed = typedIn(textOf(message))
      const servers = mcp.servers()
      const named = Arguments.mentions(typed, servers)
      const problems = Arguments.mistypedMentions(typed, servers).map(({ mention, server }) =>
        `${line(mention, 200)} is left as text, since no MCP server has that name; did you mean ${line(server, 80)}?`
      )
      if (named.length === 0) return { content, problems }
      const read = yield* Effect.forEach(
        named,
        ({ server, uri }) => Effect.map(Effect.either(mcp.read(uri, server)), (result) => ({ server, uri, result })),
        { concurrency: 4 }
      )
      const attached = read.flatMap(({ result, server, uri }): ReadonlyArray<Part> => {
        if (result._tag === "Right") return Contents.asAttachment(server, result.right.contents)
        problems.push(`@${server}:${uri} could not be attached: ${result.left.message}`)
        return [textPart(`\n\n[resource @${server}:${uri} could not be read: ${result.left.message}]`)]
      })
      return { content: [...(typeof content === "string" ? [textPart(content)] : content), ...attached], problems }
    })

  return {
    tools: {
      tools: Effect.map(mcp.tools, (tools) => tools.map(nativeOf)),
      isReadOnly: mcp.isReadOnly,
      find: (name) =>
        Effect.map(mcp.find(name), (tool) => {
          if (tool === undefined) return undefined
          // what is called by its name is known to the model
          revealed.add(name)
          return nativeOf(tool)
        }),
      explain: (name) =>
        Effect.zipWith(mcp.explain(name), mcp.tools, (why, tools) => {
          const near = nearest(name, tools.map((tool) => tool.name))
          return near.length === 0 || why.includes(": ") ? why : `${why}; did you mean ${near.join(" or ")}?`
        }),
      withheld
    },
    access: {
      attend: (run) =>
        Effect.map(mcp.attend(run), ({ instructions, missing }) => ({
          refusal: missing.length === 0 ?
            null :
            missing.map(({ error, phase, server }) =>
              `the MCP server ${server} is required and not ready: ${
                error?.message ??
                  (phase === "connecting"
                    ? "its list of tools did not come within its connect_timeout_ms; raise that if it needs more"
                    : phase)
              }`
            ).join("\n"),
          instructions: instructions.length === 0 ? "" : [
            "What the MCP servers say about their tools (their words, not the user's):",
            ...instructions.map(({ server, text }) =>
              `<server name=${JSON.stringify(server)}>\n${
                text.length > maxInstructions ? `${text.slice(0, maxInstructions)}...` : text
              }\n</server>`
            )
          ].join("\n")
        })),
      expand: (content) => {
        const command = typeof content === "string" ? Arguments.promptCommand(content) : null
        return command === null ? withMentions(content) : asCommand(command)
      },
      status: mcp.status,
      prompts: Effect.map(mcp.prompts, ({ byName }) =>
        [...byName.values()].map(({ name, prompt }) => ({
          name,
          description: prompt.description ?? prompt.title ?? "",
          arguments: prompt.arguments.map((each) => ({ name: each.name, required: each.required }))
        }))),
      restart: mcp.restart
    },
    searchTools,
    listResources,
    readResource
  }
}

const sizes = new WeakMap<McpToolDefinition, number>()

/** Characters that a tool takes in a request. */
const sizeOf = (tool: McpToolDefinition): number => {
  const known = sizes.get(tool)
  if (known !== undefined) return known
  const size = tool.name.length + tool.description.length + JSON.stringify(tool.input_schema).length
  sizes.set(tool, size)
  return size
}
