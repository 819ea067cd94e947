/**
 * A server that misbehaves as it is told: `node fake.mjs '{"probe": ..., ...}'`. Raw JSON lines, no SDK.
 *
 * - probe: how it takes `server/discover`: "error" (default), "silent", "exit", "stray" (an error without id), "lax" ({})
 * - era: "legacy" (default) or "modern"; version: what `initialize` answers; reject: versions it refuses
 * - noise: writes to stdout before the first message; stdout: bytes of one line written at once
 * - ignore: "stdin" (goes on when stdin ends), "term" (ignores SIGTERM too); children: how many it starts
 * - list: "repeat" | "many" | "paged" | "broken" | "odd"; annotations: of every tool
 * - changing: tools that change the list of tools; tasks: a tool that runs as a task; worse: tools that behave worse
 * - gate: a file; nothing is read before it is there
 */
import { spawn } from "node:child_process"
import * as fs from "node:fs"
import { createInterface } from "node:readline"

const options = JSON.parse(process.argv[2] ?? "{}")
const write = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`)
const reply = (id, result) =>
  write({ id, result: options.era === "modern" ? { resultType: "complete", ...result } : result })
const text = (value) => ({ content: [{ type: "text", text: String(value) }] })

const heard = []
const waiting = []
const hanging = new Set()
const schema = { type: "object" }
/** Changed by the tool `mutate`. */
let echoSchema = schema
const names = [
  "echo",
  "hang",
  "die",
  "swap",
  "twice",
  "spell",
  "big",
  "flood",
  "closeout",
  "storm",
  "heard",
  "env",
  "pid",
  "progress",
  "ask",
  "rounds",
  "mixed",
  "batch",
  "unread",
  "boom",
  ...(options.changing === true ? ["rain", "mutate"] : []),
  ...(options.tasks === true ? ["task"] : []),
  ...(options.worse === true ? ["last", "closein", "nothing"] : [])
]

if (options.ignore === "term") process.on("SIGTERM", () => undefined)
if (options.ignore !== undefined) setInterval(() => undefined, 1_000)
for (let i = 0; i < (options.children ?? 0); i++) {
  // It holds our stdout and ignores TERM: only KILL of the group ends it.
  spawn("/bin/sh", ["-c", "trap '' TERM; while :; do sleep 0.1; done"], { stdio: "inherit" })
}
if (options.pidfile !== undefined) fs.appendFileSync(options.pidfile, `${process.pid}\n`)
if (options.noise === true) process.stdout.write("Server listening on stdio\n\n{half a mess\n\u001b[31mred\u001b[0m\n")
if (options.exit !== undefined) {
  process.stderr.write("cannot start: KEY missing\n")
  process.exit(options.exit)
}

const page = (cursor) => {
  const tool = (name) => ({
    name,
    inputSchema: name === "echo" ? echoSchema : schema,
    ...(name === "task" ? { execution: { taskSupport: "required" } } : {}),
    ...(options.annotations === undefined ? {} : { annotations: options.annotations })
  })
  switch (options.list) {
    case "repeat":
      return { tools: [tool(`t${cursor ?? 0}`)], nextCursor: cursor === "b" ? "a" : cursor === "a" ? "b" : "a" }
    case "many":
      return { tools: [tool(`t${cursor ?? 0}`)], nextCursor: String(Number(cursor ?? 0) + 1) }
    case "paged":
      return cursor === undefined
        ? { tools: [tool("a")], nextCursor: "" }
        : cursor === ""
        ? { tools: [tool("b")], nextCursor: "x" }
        : { tools: [tool("c")] }
    case "broken":
      return cursor === undefined ? { tools: [tool("a")], nextCursor: "x" } : null
    case "odd":
      return {
        tools: [
          tool("a"),
          { inputSchema: schema },
          { name: "s", inputSchema: "no" },
          { name: "t", inputSchema: { type: "string" } },
          { ...tool("a"), description: "the second" },
          null,
          { name: "r", inputSchema: { type: "object", properties: { x: { $ref: "https://127.0.0.1:1/schema" } } } }
        ]
      }
    default:
      return { tools: names.map(tool) }
  }
}

const call = (id, params) => {
  const { arguments: args = {}, name } = params
  switch (name) {
    case "hang":
      hanging.add(id)
      return write({ method: "notifications/message", params: { level: "info", data: "hanging" } })
    case "die":
      process.stderr.write("panic: out of luck\n")
      return process.exit(3)
    case "last":
      fs.writeSync(1, `${JSON.stringify({ jsonrpc: "2.0", id, result: text("the last answer") })}\n`)
      return process.exit(0)
    case "closein":
      process.stdin.destroy()
      fs.closeSync(0)
      return reply(id, text("hears nothing any more"))
    case "nothing":
      return write({ id, result: undefined })
    case "swap":
      waiting.push([id, args.n])
      if (waiting.length === args.of) { for (const [each, n] of waiting.splice(0).reverse()) reply(each, text(n)) }
      return undefined
    case "twice":
      reply(id, text("first"))
      return reply(id, text("second"))
    case "spell":
      return reply(String(id), text("spelled"))
    case "big":
      return process.stdout.write(`{"jsonrpc":"2.0","id":${id},"result":"${"x".repeat(args.bytes)}"}\n`)
    case "flood": {
      const line = `${"e".repeat(1_000)}\n`
      let left = args.lines
      const more = () => {
        while (left > 0) {
          left--
          if (!process.stderr.write(line)) return process.stderr.once("drain", more)
        }
        process.stderr.write("the last words\n", () => reply(id, text("flooded")))
      }
      return more()
    }
    case "closeout":
      fs.closeSync(1)
      return setInterval(() => undefined, 1_000)
    case "storm":
      for (let i = 0; i < args.times; i++) write({ method: "notifications/tools/list_changed" })
      return reply(id, text("over"))
    case "rain": {
      // a thousand a second, behind the answer too
      const end = Date.now() + args.ms
      const timer = setInterval(() => {
        for (let i = 0; i < 10; i++) write({ method: "notifications/tools/list_changed" })
        if (Date.now() >= end) clearInterval(timer)
      }, 10)
      return reply(id, text("it rains"))
    }
    case "mutate":
      echoSchema = { type: "object", properties: { y: { type: "number" } }, required: ["y"] }
      write({ method: "notifications/tools/list_changed" })
      return reply(id, text("changed"))
    case "heard":
      return reply(id, text(JSON.stringify(heard)))
    case "env":
      return reply(id, text(JSON.stringify(process.env)))
    case "pid":
      return reply(id, text(process.pid))
    case "progress":
      for (let i = 1; i <= args.steps; i++) {
        write({
          method: "notifications/progress",
          params: { progressToken: params._meta.progressToken, progress: i, total: args.steps, message: `step ${i}` }
        })
      }
      return reply(id, text("done"))
    case "ask":
      waiting.push(["ask", id])
      return write({ id: args.id ?? "q1", method: args.method, params: args.params })
    case "task": {
      const progress = { progressToken: params._meta.progressToken, progress: 1 }
      const messages = [
        { id, result: { task: { taskId: "T", status: "working", pollInterval: 50 } } },
        { method: "notifications/progress", params: progress }
      ]
      return process.stdout.write(messages.map((each) => `${JSON.stringify({ jsonrpc: "2.0", ...each })}\n`).join(""))
    }
    case "batch":
      return process.stdout.write(`${
        JSON.stringify([
          { jsonrpc: "2.0", method: "notifications/message", params: { level: "error", data: "in a batch" } },
          { jsonrpc: "2.0", id, result: text("batched") }
        ])
      }\n`)
    case "boom":
      return write({ id, error: { code: -32_603, message: "\u001b[31mboom\u001b[0m", data: { deep: true } } })
    case "unread":
      process.stdin.pause()
      return reply(id, text("reading no more"))
    default:
      return reply(id, text(JSON.stringify(args)))
  }
}

const take = (message) => {
  heard.push(message)
  const { id, method, params } = message
  if (method === undefined) {
    const asked = waiting.pop()
    return asked === undefined ? undefined : reply(asked[1], text(JSON.stringify(message)))
  }
  if (method === "notifications/cancelled") {
    return hanging.delete(params.requestId)
      ? write({ method: "notifications/message", params: { level: "info", data: `cancelled ${params.requestId}` } })
      : undefined
  }
  if (id === undefined) return undefined
  if (method === "server/discover" && options.era !== "modern") {
    switch (options.probe) {
      case "silent":
        return undefined
      case "exit":
        return process.exit(1)
      case "stray":
        return write({ error: { code: -32_600, message: "not initialized" } })
      case "lax":
        return reply(id, {})
      default:
        return write({ id, error: { code: -32_601, message: "Method not found" } })
    }
  }
  if (options.silent === true) return undefined
  switch (method) {
    case "server/discover":
      return reply(id, {
        supportedVersions: ["2026-07-28"],
        capabilities: { tools: {} },
        _meta: { "io.modelcontextprotocol/serverInfo": { name: "fake", version: "2" } }
      })
    case "initialize":
      if ((options.reject ?? []).includes(params.protocolVersion)) {
        return write({
          id,
          error: { code: -32_602, message: "Unsupported protocol version", data: { supported: [options.version] } }
        })
      }
      return reply(id, {
        protocolVersion: options.version ?? params.protocolVersion,
        capabilities: {
          tools: {},
          logging: {},
          ...(options.tasks === true ? { tasks: { requests: { tools: { call: {} } } } } : {})
        },
        serverInfo: { name: "fake", version: "1" },
        instructions: "Be careful."
      })
    case "tools/list": {
      const found = page(params?.cursor)
      return found === null ? write({ id, error: { code: -32_602, message: "bad cursor" } }) : reply(id, found)
    }
    case "tools/call":
      return call(id, params)
    case "tasks/get":
      return reply(id, { taskId: "T", status: "completed" })
    case "tasks/result":
      return reply(id, text("from a task"))
    case "ping":
      return reply(id, {})
    default:
      return write({ id, error: { code: -32_601, message: `Method not found: ${method}` } })
  }
}

/** Lines that came before the gate was open; null = it is. */
let held = options.gate === undefined ? null : []
if (held !== null) {
  const timer = setInterval(() => {
    if (!fs.existsSync(options.gate)) return
    clearInterval(timer)
    const lines = held
    held = null
    for (const line of lines) take(JSON.parse(line))
  }, 10)
}
createInterface({ input: process.stdin }).on("line", (line) => {
  if (held === null) take(JSON.parse(line))
  else held.push(line)
}).on("close", () => {
  if (options.ignore === undefined) process.exit(0)
})
