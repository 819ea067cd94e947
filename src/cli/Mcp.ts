/**
 * `hanzo-dev mcp add|remove|enable|disable`: servers in the settings, changed so that comments, order and unknown keys
 * stay (reading 4.10). Nothing is connected.
 *
 * @since 0.1.0
 */
import * as FileSystem from "@effect/platform/FileSystem"
import * as Path from "@effect/platform/Path"
import * as Effect from "effect/Effect"
import { fnmatchcase } from "../codec/Fnmatch.ts"
import { line } from "../codec/TerminalText.ts"
import { Config, type ConfigService } from "../config/Config.ts"
import { type Edited, set } from "../config/Edit.ts"
import * as Document from "../config/Document.ts"
import { fileOf, type SettingsError, SettingsWriter, type WritableTier } from "../config/SettingsWriter.ts"
import type { McpServerConfig } from "../config/Schema.ts"
import * as Tiers from "../config/Tiers.ts"
import { ExitCode } from "../domain/Failure.ts"
import { Workspace } from "../domain/Workspace.ts"
import { addressProblem } from "../mcp/HttpWire.ts"
import { read as readImport } from "../mcp/Import.ts"
import { canonicalName, isAmbiguousServer } from "../mcp/Names.ts"
import * as Remedy from "../mcp/Remedy.ts"
import { Environment } from "../platform/Environment.ts"
import { fromPlatform } from "../platform/FileError.ts"
import { Terminal } from "../platform/Terminal.ts"
import { type CliExit, failed, usage } from "./Exit.ts"
import { serversThere } from "./McpShow.ts"
import type * as Spec from "./Spec.ts"
import { untrustedNote } from "./TrustQuestion.ts"

const settingsExit = (error: SettingsError): CliExit =>
  error.reason === "refused" || error.reason === "no_workspace" ? usage(error.message) : failed(error.message)

/** The servers that a tier's file has itself. */
const ownServers = (text: string): ReadonlyMap<string, Document.Node> => {
  const { root } = Document.parse(text)
  const members = root?.type === "object" ? root.members : []
  const servers = members.findLast(({ key }) => key === "mcp_servers" || key === "mcpServers")?.value
  return new Map(servers?.type === "object" ? servers.members.map(({ key, value }) => [key, value]) : [])
}

/** An edit that brings no new error into the file; the first one there would be is the problem. */
const checked = (tier: WritableTier, file: string, edit: (text: string) => Edited) => (text: string): Edited => {
  const edited = edit(text)
  if ("problem" in edited) return edited
  const errors = (of: string) => Tiers.fromText(tier, file, of).issues.filter(({ severity }) => severity === "error")
  const known = new Set(errors(text).map(({ code, key }) => `${code} ${key}`))
  const problem = errors(edited.text).find(({ code, key }) => !known.has(`${code} ${key}`))
  return problem === undefined ? edited : { problem: problem.message }
}

const change = (
  tier: WritableTier,
  edit: (text: string) => Edited
): Effect.Effect<string, CliExit, Config | SettingsWriter> =>
  Effect.gen(function*() {
    const config = yield* Config
    const writer = yield* SettingsWriter
    const file = fileOf(config.files, tier)
    if (file === null) return yield* usage(`there are no ${tier} settings here: the home directory is no project`)
    yield* Effect.mapError(writer.change(config.files, tier, checked(tier, file, edit)), settingsExit)
    return file
  })

/** What is to be known after a change to a project's settings. */
const afterwards = (config: ConfigService, tier: WritableTier): Effect.Effect<void, never, Terminal> =>
  tier === "user"
    ? Effect.void
    : Effect.gen(function*() {
      const terminal = yield* Terminal
      const now = yield* config.reload
      yield* terminal.err(
        config.trust.status === "trusted" && now.trust.status === "untrusted"
          ? `the settings of this project have changed and wait for trust again; until then they do not count: hanzo-dev config trust\n`
          : untrustedNote(now)
      )
    })

const pair = (
  given: string,
  mark: "=" | ":",
  option: string
): Effect.Effect<readonly [string, string], CliExit> => {
  const at = given.indexOf(mark)
  return at <= 0
    ? Effect.fail(usage(`--${option} ${line(given.slice(0, 40), 40)}: write NAME${mark === "=" ? "=" : ": "}VALUE`))
    : Effect.succeed([given.slice(0, at).trim(), mark === "=" ? given.slice(at + 1) : given.slice(at + 1).trim()])
}

const pairs = (given: ReadonlyArray<string>, mark: "=" | ":", option: string) =>
  Effect.map(Effect.forEach(given, (each) => pair(each, mark, option)), (all) => Object.fromEntries(all))

/** With a variable in it, it is known only when the server starts. */
const isOpen = (text: string): boolean => text.includes("${")

const checkUrl = (url: string): Effect.Effect<void, CliExit> => {
  const problem = isOpen(url) ? null : addressProblem(url)
  return problem === null
    ? Effect.void
    : Effect.fail(
      /password/.test(problem)
        ? usage("--url: the address holds a user or password; use --header 'Authorization: ...'")
        : usage(`--url: ${line(url, 80)} is no http or https address`)
    )
}

/** A value may be a secret: it is not shown. */
const checkHeader = ([name, value]: readonly [string, string]): Effect.Effect<void, CliExit> =>
  !/^[!#$%&'*+.^_`|~\w-]+$/.test(name)
    ? Effect.fail(usage(`--header ${line(name, 40)}: a header's name has letters, digits and - only`))
    : isOpen(value) || /^[\t\x20-\x7e\x80-\xff]*$/.test(value)
    ? Effect.void
    : Effect.fail(usage(`--header ${line(name, 40)}: its value holds a character that HTTP does not allow`))

type AddValues = Spec.Values<typeof Spec.mcpAdd>

/** The definition that the command line describes. @since 0.1.0 @category decoding */
export const definitionOf = (values: AddValues): Effect.Effect<McpServerConfig, CliExit> =>
  Effect.gen(function*() {
    const [, program, ...args] = values.args
    const { type, url } = values
    if (url !== undefined && program !== undefined) {
      return yield* usage("a server has a program or an address, not both")
    }
    if (url !== undefined) {
      if (type === "stdio") return yield* usage("an address is not spoken to by stdio")
      yield* checkUrl(url)
      const headers = yield* pairs(values.header, ":", "header")
      yield* Effect.forEach(Object.entries(headers), checkHeader, { discard: true })
      return {
        ...(type === undefined ? {} : { type }),
        url,
        ...(Object.keys(headers).length === 0 ? {} : { headers })
      }
    }
    if (program === undefined) {
      return yield* usage(
        "what is the server? A program: hanzo-dev mcp add NAME -- PROGRAM ARGUMENTS",
        "an address: hanzo-dev mcp add NAME --url URL"
      )
    }
    if (type === "http" || type === "sse") return yield* usage(`--type ${type} needs --url`)
    if (values.header.length > 0) {
      return yield* usage("--header is for servers with an address, which is given with --url")
    }
    const env = yield* pairs(values.env, "=", "env")
    return {
      command: program,
      ...(args.length === 0 ? {} : { args }),
      ...(Object.keys(env).length === 0 ? {} : { env }),
      ...(values.cwd === undefined ? {} : { cwd: values.cwd })
    }
  })

const withServer = (name: string, definition: McpServerConfig, replace: boolean) => (text: string): Edited =>
  ownServers(text).has(name) && !replace
    ? { problem: `it has the server ${JSON.stringify(name)} already; --replace replaces it` }
    : set(text, ["mcp_servers", name], definition)

const nameOf = (
  values: { readonly args: ReadonlyArray<string> },
  ...examples: ReadonlyArray<string>
): Effect.Effect<string, CliExit> =>
  Effect.suspend(() => {
    const [name] = values.args
    return name === undefined || name.trim() === ""
      ? usage("the server needs a name", ...examples)
      : Effect.succeed(name)
  })

const addFrom = (values: AddValues, from: string, tier: WritableTier) =>
  Effect.gen(function*() {
    const terminal = yield* Terminal
    const config = yield* Config
    const fs = yield* FileSystem.FileSystem
    const path = yield* Path.Path
    const { cwd } = yield* Environment
    const { root } = yield* Workspace
    const [only, ...more] = values.args
    if (more.length > 0) return yield* usage("--from takes the name of one server, or none for all")
    const file = path.resolve(cwd, from)
    const text = yield* Effect.mapError(
      fs.readFileString(file),
      (error) => failed(fromPlatform("read", file, error).message)
    )
    const found = readImport(text, root)
    if ("problem" in found) return yield* usage(`${file}: ${found.problem}`)
    const wanted = [...found.servers].filter(([name]) => only === undefined || name === only)
    if (only !== undefined && wanted.length === 0) {
      const why = found.left_out.find((each) => each.startsWith(`${only}: `))
      return yield* usage(
        why === undefined
          ? `${file} has no server ${JSON.stringify(only)}; it has ${[...found.servers.keys()].join(", ")}`
          : `${file}: ${why}`
      )
    }
    const added: Array<string> = []
    const skipped: Array<string> = []
    const written = yield* change(tier, (before) => {
      added.length = 0
      skipped.length = 0
      let now = before
      for (const [name, definition] of wanted) {
        if (ownServers(now).has(name) && !values.replace) {
          skipped.push(name)
          continue
        }
        const edited = set(now, ["mcp_servers", name], definition)
        if ("problem" in edited) return edited
        now = edited.text
        added.push(name)
      }
      return { text: now }
    })
    for (const name of added) yield* terminal.err(`${line(name, 100)} is in ${line(written, 1000)}\n`)
    for (const name of skipped) {
      yield* terminal.err(`${line(name, 100)} was there already and stays; --replace replaces it\n`)
    }
    for (const each of found.left_out) {
      if (only === undefined || each.startsWith(`${only}: `)) yield* terminal.err(`left out: ${line(each, 500)}\n`)
    }
    yield* afterwards(config, tier)
    return added.length === 0 && skipped.length === 0 ? ExitCode.failed : ExitCode.done
  })

/** @since 0.1.0 @category combinators */
export const add = Effect.fn("Cli.mcp.add")(function*(values: AddValues) {
  const tier = values.tier ?? "user"
  if (values.from !== undefined) return yield* addFrom(values, values.from, tier)
  const config = yield* Config
  const terminal = yield* Terminal
  const name = yield* nameOf(
    values,
    "a program: hanzo-dev mcp add files -- npx -y @modelcontextprotocol/server-filesystem .",
    "an address: hanzo-dev mcp add web --url https://mcp.example/mcp",
    "those of another client: hanzo-dev mcp add --from .mcp.json"
  )
  const definition = yield* definitionOf(values)
  const file = yield* change(tier, withServer(name, definition, values.replace))
  yield* terminal.err(`${line(name, 100)} is in ${line(file, 1000)}\n`)
  if (isAmbiguousServer(name)) {
    yield* terminal.err(
      `its tools are called ${
        line(canonicalName(name, "TOOL"), 200)
      }: with such a name a person can read that in two ways\n`
    )
  }
  yield* afterwards(config, tier)
  return ExitCode.done
})

/** The tier that has a server itself: the one asked for, else the first that has it. */
const tierWith = (
  name: string,
  asked: WritableTier | undefined
): Effect.Effect<WritableTier, CliExit, Config | FileSystem.FileSystem> =>
  Effect.gen(function*() {
    const config = yield* Config
    const fs = yield* FileSystem.FileSystem
    const tiers: ReadonlyArray<WritableTier> = asked === undefined ? ["user", "project", "local"] : [asked]
    for (const tier of tiers) {
      const file = fileOf(config.files, tier)
      if (file === null) continue
      const text = yield* Effect.orElseSucceed(fs.readFileString(file), () => "")
      if (ownServers(text).has(name)) return tier
    }
    return yield* usage(
      `${asked === undefined ? "no settings" : `the ${asked} settings do not`} have the MCP server ${
        JSON.stringify(name)
      }`,
      serversThere(config)
    )
  })

/** @since 0.1.0 @category combinators */
export const remove = Effect.fn("Cli.mcp.remove")(function*(values: Spec.Values<typeof Spec.mcpRemove>) {
  const config = yield* Config
  const terminal = yield* Terminal
  const name = yield* nameOf(values)
  const tier = yield* tierWith(name, values.tier)
  const file = yield* change(tier, (text) => set(text, ["mcp_servers", name], undefined))
  yield* terminal.err(`${line(name, 100)} is no longer in ${line(file, 1000)}\n`)
  const now = yield* config.reload
  if (Object.hasOwn(now.config.mcp_servers, name) && now.config.mcp_servers[name]?.command !== undefined) {
    yield* terminal.err(`other settings define ${line(name, 100)} too; ${Remedy.command("get", name)} shows where\n`)
  }
  yield* afterwards(config, tier)
  return ExitCode.done
})

type Lists = Pick<McpServerConfig, "include_tools" | "exclude_tools">

/** A name that a list has, as it is or by a pattern. */
const listed = (list: ReadonlyArray<string>, name: string): boolean =>
  list.some((pattern) => pattern === name || fnmatchcase(name, pattern))

/** Tools that no list leaves out, so that there is nothing to switch on. */
const switchedOn = (
  { exclude_tools = [], include_tools }: Lists,
  tools: ReadonlyArray<string>
): ReadonlyArray<string> =>
  tools.filter((name) => !listed(exclude_tools, name) && (include_tools === undefined || listed(include_tools, name)))

/** The lists of a server with tools switched off, or on again. */
const withTools = (
  { exclude_tools = [], include_tools }: Lists,
  tools: ReadonlyArray<string>,
  disabled: boolean
): Lists | { readonly problem: string } => {
  if (disabled) return { exclude_tools: [...new Set([...exclude_tools, ...tools])] }
  const rest = exclude_tools.filter((pattern) => !tools.includes(pattern))
  const still = tools.find((name) => listed(rest, name))
  if (still !== undefined) {
    return {
      problem: `exclude_tools has ${
        rest.filter((pattern) => listed([pattern], still)).join(", ")
      }, which leaves ${still} out`
    }
  }
  const missing = include_tools === undefined ? [] : tools.filter((name) => !listed(include_tools, name))
  return {
    exclude_tools: rest,
    ...(include_tools === undefined || missing.length === 0 ? {} : { include_tools: [...include_tools, ...missing] })
  }
}

const switchTools = (name: string, tier: WritableTier, tools: ReadonlyArray<string>, disabled: boolean) =>
  Effect.gen(function*() {
    const config = yield* Config
    const terminal = yield* Terminal
    const given = config.config.mcp_servers[name] ?? {}
    const idle = disabled ? [] : switchedOn(given, tools)
    const words = (some: ReadonlyArray<string>): string => some.map((tool) => line(tool, 60)).join(", ")
    if (idle.length > 0) {
      yield* terminal.err(
        `${words(idle)} of ${line(name, 100)} ${idle.length === 1 ? "was" : "were"} not switched off\n`
      )
    }
    const wanted = tools.filter((tool) => !idle.includes(tool))
    if (wanted.length === 0) return ExitCode.done
    const lists = withTools(given, wanted, disabled)
    if ("problem" in lists) return yield* usage(lists.problem)
    const file = yield* change(tier, (text) => {
      const edited = set(text, ["mcp_servers", name, "exclude_tools"], lists.exclude_tools)
      return "problem" in edited || lists.include_tools === undefined
        ? edited
        : set(edited.text, ["mcp_servers", name, "include_tools"], lists.include_tools)
    })
    yield* terminal.err(
      `${words(wanted)} of ${line(name, 100)} ${wanted.length === 1 ? "is" : "are"} switched ${
        disabled ? "off" : "on"
      } in ${line(file, 1000)}\n`
    )
    yield* afterwards(config, tier)
    return ExitCode.done
  })

const switched = (disabled: boolean) =>
  Effect.fn("Cli.mcp.switch")(function*(
    values: Spec.Values<typeof Spec.mcpEnable>
  ) {
    const config = yield* Config
    const terminal = yield* Terminal
    const name = yield* nameOf(values)
    const known = config.config.mcp_servers
    const waits = config.trust.definitions.some(({ key }) => key === `mcp_servers.${name}`)
    if (!Object.hasOwn(known, name) && !waits) yield* tierWith(name, undefined)
    // a project's own file belongs to all who work on it: what one of them wants goes beside it
    const own = yield* Effect.option(tierWith(name, values.tier))
    const tier = values.tier ?? (own._tag === "Some" && own.value === "user" ? "user" : "local")
    if (values.tool.length > 0) return yield* switchTools(name, tier, values.tool, disabled)
    const file = yield* change(
      tier,
      (text) =>
        set(text, ["mcp_servers", name, "disabled"], disabled ? true : ownServers(text).has(name) ? undefined : false)
    )
    const now = yield* config.reload
    const state = now.config.mcp_servers[name]?.disabled === true
    const waits_now = now.trust.status === "untrusted" &&
      now.trust.definitions.some(({ key }) => key === `mcp_servers.${name}`)
    yield* terminal.err(
      state === disabled || (disabled && waits_now)
        ? `${line(name, 100)} is switched ${disabled ? "off" : "on"} in ${line(file, 1000)}\n`
        : `${line(file, 1000)} says so now, but other settings switch ${line(name, 100)} ${state ? "off" : "on"}\n`
    )
    yield* afterwards(config, tier)
    return ExitCode.done
  })

/** @since 0.1.0 @category combinators */
export const enable = switched(false)

/** @since 0.1.0 @category combinators */
export const disable = switched(true)
