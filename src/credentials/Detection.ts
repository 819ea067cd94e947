/**
 * Which provider is taken when none is named, and why (reading 13.2). Pure.
 *
 * @since 0.1.0
 */

/** The order of HIP-301 section 13, for API keys first and for logins after them. @since 0.1.0 @category constants */
export const detectionOrder: ReadonlyArray<string> = ["hanzo", "anthropic", "openai"]

/**
 * `source` names where it is set up, null where nothing is; `detail` is for the user and holds nothing secret.
 *
 * @since 0.1.0
 * @category models
 */
export interface Finding {
  readonly state: "usable" | "unusable" | "absent"
  readonly source: string | null
  readonly detail: string
}

/** @since 0.1.0 @category models */
export interface Candidate extends Finding {
  readonly provider: string
  readonly kind: "api_key" | "login"
}

/** `outcome`: `wins`, `would_work` if none before it did, else why it is passed over. @since 0.1.0 @category models */
export interface Judged extends Candidate {
  readonly outcome: "wins" | "would_work" | "unusable" | "absent"
}

/** @since 0.1.0 @category models */
export interface Detection {
  /** In the order in which they are tried. */
  readonly candidates: ReadonlyArray<Judged>
  readonly winner: Judged | null
  /** One sentence for the user. */
  readonly reason: string
}

const kindText = { api_key: "API key", login: "login" } as const

/** @since 0.1.0 @category combinators */
export const judge = (candidates: ReadonlyArray<Candidate>): Detection => {
  const first = candidates.findIndex(({ state }) => state === "usable")
  const judged = candidates.map((candidate, at): Judged => ({
    ...candidate,
    outcome: candidate.state === "usable" ? (at === first ? "wins" : "would_work") : candidate.state
  }))
  const winner = judged[first] ?? null
  const passed = judged.slice(0, Math.max(0, first)).filter(({ outcome }) => outcome === "unusable")
  return {
    candidates: judged,
    winner,
    reason: winner === null
      ? `no API key and no login of ${detectionOrder.join(", ")} can be used`
      : `the ${kindText[winner.kind]} of ${winner.provider} (${
        winner.source ?? ""
      }) is the first that can be used, in ` +
        `the order API keys, then logins, of ${detectionOrder.join(", ")}` +
        (passed.length === 0
          ? ""
          : `; passed over: ${passed.map(({ kind, provider }) => `${kindText[kind]} of ${provider}`).join(", ")}`)
  }
}
