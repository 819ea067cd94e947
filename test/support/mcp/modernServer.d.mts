import type { McpServer } from "@modelcontextprotocol/server"
export declare const make: () => McpServer
