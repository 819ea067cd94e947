export type * from "./Options.ts"
export { startUpstream } from "./Server.ts"
