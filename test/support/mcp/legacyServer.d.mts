import type { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js"
export declare const make: (version: string) => McpServer
