/**
 * The domains this program answers for. A new one is one entry here.
 *
 * @since 0.1.0
 */
import { backoff } from "./BackoffDomain.ts"
import { compaction } from "./CompactionDomain.ts"
import { config } from "./ConfigDomain.ts"
import type { Registry } from "./Domain.ts"
import { names } from "./NamesDomain.ts"
import { permission, ready } from "./PermissionDomain.ts"
import { pkce } from "./PkceDomain.ts"
import { sse } from "./SseDomain.ts"

/** @since 0.1.0 @category constants */
export const domains: Registry = new Map([
  ["sse", sse],
  ["names", names],
  ["permission", permission],
  ["compaction", compaction],
  ["pkce", pkce],
  ["backoff", backoff],
  ["config", config]
])

export { ready }
