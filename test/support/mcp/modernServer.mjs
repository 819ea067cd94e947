/** A server on the SDK of both eras, over whatever transport. */
import { fromJsonSchema, inputRequired, McpServer, ResourceTemplate } from "@modelcontextprotocol/server"

const text = (value) => ({ content: [{ type: "text", text: value }] })
const object = (properties, required = Object.keys(properties)) =>
  fromJsonSchema({ type: "object", properties, required })
/** Everything a string can hold: escapes, controls, half a surrogate pair, names of prototypes. */
const state = "{\"a\":1} \\ \" \u0000 \u2028 \ud83d\ude00 \ud83d é __proto__"

export const make = () => {
  const server = new McpServer({ name: "modern", version: "2.0.0" }, {
    capabilities: {
      tools: { listChanged: true },
      resources: { subscribe: true, listChanged: true },
      prompts: {},
      logging: {},
      completions: {}
    },
    instructions: "Modern."
  })
  server.registerTool("add", {
    description: "Adds",
    inputSchema: object({ a: { type: "number" }, b: { type: "number" } }),
    outputSchema: object({ sum: { type: "number" } })
  }, ({ a, b }) => ({ ...text(String(a + b)), structuredContent: { sum: a + b } }))
  server.registerTool(
    "meta",
    { description: "What came along" },
    (ctx) => text(JSON.stringify(ctx.mcpReq.envelope ?? ctx.mcpReq._meta))
  )
  server.registerTool("ask", { description: "Asks for a name" }, (ctx) => {
    const answers = ctx.mcpReq.inputResponses
    const came = ctx.mcpReq.requestState()
    if (answers?.who === undefined) {
      return inputRequired({
        inputRequests: {
          who: inputRequired.elicit({
            message: "Who are you?",
            requestedSchema: {
              type: "object",
              properties: { name: { type: "string" }, age: { type: "integer", default: 7 } },
              required: ["name"]
            }
          }),
          roots: inputRequired.listRoots(),
          model: inputRequired.createMessage({
            messages: [{ role: "user", content: { type: "text", text: "capital?" } }],
            maxTokens: 10
          })
        },
        requestState: state
      })
    }
    return text(JSON.stringify({ answers, same: came === state }))
  })
  server.registerTool("again", {
    description: "Asks again and again",
    inputSchema: object({ rounds: { type: "integer" } })
  }, ({ rounds }, ctx) => {
    const round = Number(ctx.mcpReq.requestState() ?? 0)
    return round === rounds ? text(`after ${round}`) : inputRequired({ requestState: String(round + 1) })
  })
  server.registerTool("grow", { description: "Adds a tool" }, () => {
    server.registerTool("grown", { description: "New" }, () => text("new"))
    return text("grown")
  })
  server.registerTool("slow", { description: "Reports progress" }, async (ctx) => {
    for (let progress = 1; progress <= 3; progress++) {
      await ctx.mcpReq.notify({
        method: "notifications/progress",
        params: { progressToken: ctx.mcpReq._meta.progressToken, progress, total: 3 }
      })
    }
    return text("slow")
  })
  server.registerTool("touch", { description: "A resource changes" }, async () => {
    await server.server.sendResourceUpdated({ uri: "note://one" })
    return text("touched")
  })
  server.registerResource("note", "note://one", { mimeType: "text/plain" }, (uri) => ({
    contents: [{ uri: uri.href, text: "a note" }]
  }))
  server.registerResource(
    "by name",
    new ResourceTemplate("note://named/{name}", { list: undefined, complete: { name: () => ["anna"] } }),
    {},
    (uri, { name }) => ({ contents: [{ uri: uri.href, text: `note of ${name}` }] })
  )
  server.registerPrompt(
    "greet",
    { description: "Greets", argsSchema: object({ who: { type: "string" } }) },
    ({ who }) => ({
      messages: [{ role: "user", content: { type: "text", text: `Hello ${who}` } }]
    })
  )
  return server
}
