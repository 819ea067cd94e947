/** The little of oidc-provider that the tests use; the package has no types of its own. */
declare module "oidc-provider" {
  import type { RequestListener } from "node:http"
  export default class Provider {
    constructor(issuer: string, configuration: Readonly<Record<string, unknown>>)
    callback(): RequestListener
    on(event: string, listener: (...values: ReadonlyArray<unknown>) => void): this
  }
}
