// A server of the official SDK over Streamable HTTP, in a process of its own: `node mcpHttpServer.mjs sse|json`.
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js"
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js"
import { createServer } from "node:http"
import { z } from "zod"

const sessions = new Map()
const server = createServer(async (request, response) => {
  const known = sessions.get(request.headers["mcp-session-id"])
  if (known !== undefined) return known.handleRequest(request, response)
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: () => `session-${sessions.size}`,
    enableJsonResponse: process.argv[2] === "json",
    onsessioninitialized: (id) => sessions.set(id, transport)
  })
  const mcp = new McpServer({ name: "bench", version: "1.0.0" })
  mcp.registerTool("add", { description: "Adds", inputSchema: { a: z.number(), b: z.number() } }, ({ a, b }) => ({
    content: [{ type: "text", text: String(a + b) }]
  }))
  await mcp.connect(transport)
  await transport.handleRequest(request, response)
})
server.listen(0, "127.0.0.1", () => process.stdout.write(`${server.address().port}\n`))
process.once("disconnect", () => process.exit())
