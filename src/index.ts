/**
 * The library: every service of the runtime by name, nothing at import time.
 *
 * @since 0.1.0
 */
export { Agent } from "./agent/Agent.ts"
