/** `/compact [FOCUS]`. @since 0.1.0 */
import type { Talk } from "./Slash.ts"

/** @since 0.1.0 @category combinators */
export const compact = (focus: string, talk: Talk) =>
  talk.session.get() === undefined
    ? talk.say("there is nothing to compact yet\n")
    : talk.turn("", { compact: { focus } })
