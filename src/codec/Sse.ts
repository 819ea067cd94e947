/**
 * Server-sent events, bytes in, frames out (HIP-301 section 3; WHATWG HTML 9.2).
 *
 * @since 0.1.0
 */

/** One dispatched event. `unterminated` marks the block that `finish` handed out (divergence D1). @since 0.1.0 @category models */
export interface SseFrame {
  readonly event: string | null
  readonly data: string
  readonly id: string | null
  readonly retry: number | null
  readonly unterminated?: true
}
