/** A server on the SDK of the legacy era that answers with one revision, over whatever transport. */
import { McpServer, ResourceTemplate } from "@modelcontextprotocol/sdk/server/mcp.js"
import { completable } from "@modelcontextprotocol/sdk/server/completable.js"
import {
  InitializeRequestSchema,
  SubscribeRequestSchema,
  UnsubscribeRequestSchema
} from "@modelcontextprotocol/sdk/types.js"
import { z } from "zod"

export const make = (version) => {
  const server = new McpServer({ name: "legacy", version: "1.0.0" }, {
    capabilities: { tools: {}, resources: { subscribe: true }, prompts: {}, completions: {}, logging: {} },
    instructions: "Ask before you act."
  })
  const initialize = server.server._oninitialize.bind(server.server)
  server.server.setRequestHandler(InitializeRequestSchema, async (request) => ({
    ...(await initialize(request)),
    protocolVersion: version
  }))
  server.server.setRequestHandler(SubscribeRequestSchema, ({ params }) => {
    queueMicrotask(() => server.server.sendResourceUpdated({ uri: params.uri }))
    return {}
  })
  server.server.setRequestHandler(UnsubscribeRequestSchema, () => ({}))

  const text = (value) => ({ content: [{ type: "text", text: value }] })
  server.registerTool("add", {
    description: "Adds two numbers",
    inputSchema: { a: z.number(), b: z.number() },
    outputSchema: { sum: z.number() }
  }, ({ a, b }) => ({ ...text(String(a + b)), structuredContent: { sum: a + b } }))
  server.registerTool("fail", { description: "Fails" }, () => ({ ...text("no luck"), isError: true }))
  server.registerTool(
    "roots",
    { description: "Asks for roots" },
    async () => text(JSON.stringify(await server.server.listRoots()))
  )
  server.registerTool("grow", { description: "Adds a tool" }, () => {
    server.registerTool("grown", { description: "New" }, () => text("new"))
    return text("grown")
  })
  server.registerTool("slow", { description: "Reports progress" }, async (extra) => {
    for (let progress = 1; progress <= 3; progress++) {
      await extra.sendNotification({
        method: "notifications/progress",
        params: { progressToken: extra._meta.progressToken, progress, total: 3 }
      })
    }
    return text("slow")
  })
  server.registerTool("log", { description: "Logs" }, async () => {
    await server.server.sendLoggingMessage({ level: "warning", logger: "here", data: { x: 1 } })
    return text("logged")
  })
  server.registerResource("note", "note://one", { mimeType: "text/plain" }, (uri) => ({
    contents: [{ uri: uri.href, mimeType: "text/plain", text: "a note" }]
  }))
  server.registerResource("blob", "note://blob", {}, (uri) => ({
    contents: [{ uri: uri.href, blob: Buffer.from([0, 255]).toString("base64") }]
  }))
  server.registerResource(
    "by name",
    new ResourceTemplate("note://named/{name}", { list: undefined, complete: { name: () => ["anna", "bert"] } }),
    {},
    (uri, { name }) => ({ contents: [{ uri: uri.href, text: `note of ${name}` }] })
  )
  server.registerPrompt("greet", {
    description: "Greets",
    argsSchema: { who: completable(z.string(), (value) => ["world", "moon"].filter((each) => each.startsWith(value))) }
  }, ({ who }) => ({ messages: [{ role: "user", content: { type: "text", text: `Hello ${who}` } }] }))
  return server
}
