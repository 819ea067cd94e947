/** A server of both eras over stdio: `node modern.mjs [serve|reject]` says what it does with a legacy opening. */
import { serveStdio } from "@modelcontextprotocol/server/stdio"
import { make } from "./modernServer.mjs"

serveStdio(make, { legacy: process.argv[2] ?? "serve" })
