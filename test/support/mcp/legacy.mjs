/** A legacy server over stdio: `node legacy.mjs 2024-11-05`. */
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js"
import { make } from "./legacyServer.mjs"

await make(process.argv[2]).connect(new StdioServerTransport())
