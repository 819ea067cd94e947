/**
 * A stored session as one HTML page: `sessions export --format html`. Pure, and made for hostile content: whatever was said
 * is escaped text, there is no script, nothing is loaded from elsewhere (a policy in the page says so to the browser, too).
 *
 * @since 0.1.0
 */
import { line, neutralise } from "../codec/TerminalText.ts"
import type { ImagePart, Message, Part } from "../domain/Message.ts"
import { partsOf } from "../domain/MessageParts.ts"
import {
  attachment,
  type Block,
  dollars,
  headings,
  pretty,
  resultName,
  resultText,
  time,
  titled,
  tokens,
  type Transcript,
  withEndings
} from "./Transcript.ts"

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  "\"": "&quot;",
  "'": "&#39;",
  "`": "&#96;"
}

/** Text as it may stand anywhere in the page, also in a quoted attribute. @since 0.1.0 @category encoding */
export const escaped = (text: string): string =>
  neutralise(text.toWellFormed()).replace(/[&<>"'`]/g, (found) => entities[found] ?? "")

const style = `
:root { color-scheme: light dark; --line: #8884; --soft: #8881; --mark: #0b7285; }
body { font: 16px/1.55 system-ui, sans-serif; max-width: 54rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; overflow-wrap: anywhere; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; font-size: .9rem; }
dt { opacity: .7; } dd { margin: 0; overflow-wrap: anywhere; }
section { border-top: 1px solid var(--line); padding: .6rem 0; }
h2 { font-size: .8rem; text-transform: uppercase; letter-spacing: .06em; opacity: .7; margin: .2rem 0; }
section.user { background: var(--soft); border-left: 3px solid var(--mark); padding-left: 1rem; }
section.summary { border-left: 3px dashed var(--line); padding-left: 1rem; }
.said { white-space: pre-wrap; overflow-wrap: anywhere; }
.reasoning { opacity: .75; font-style: italic; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; background: var(--soft); padding: .6rem; border-radius: 4px;
  font: 13px/1.45 ui-monospace, monospace; margin: .3rem 0; }
summary { cursor: pointer; font-family: ui-monospace, monospace; font-size: .85rem; overflow-wrap: anywhere; }
.error > summary { color: #c92a2a; }
img { max-width: 100%; }
.note { font-style: italic; opacity: .8; }
`

/** Longer results stand folded. */
const openLines = 12

const shownImages = /^image\/(?:png|jpeg|gif|webp)$/
const base64 = /^[A-Za-z0-9+/][A-Za-z0-9+/\s]*={0,2}\s*$/

/** Only pixels that are in the record: an address would tell somebody that the page was read. */
const image = (part: ImagePart): string =>
  part.data !== undefined && shownImages.test(part.media_type) && base64.test(part.data)
    ? `<p><img alt="image" src="data:${part.media_type};base64,${part.data.replace(/\s+/g, "")}"></p>`
    : `<p class="note">[${escaped(attachment(part))}]</p>`

const folded = (name: string, text: string, classes: string): string => {
  const open = text.split("\n", openLines + 1).length <= openLines ? " open" : ""
  return `<details class="${classes}"${open}><summary>${escaped(line(name, 300))}</summary><pre>${
    escaped(text)
  }</pre></details>`
}

const partHtml = (part: Part): string => {
  switch (part.type) {
    case "text":
      return part.text.trim() === "" ? "" : `<div class="said">${escaped(part.text.trim())}</div>`
    case "reasoning":
      return part.text.trim() === "" ? "" : `<div class="said reasoning">${escaped(part.text.trim())}</div>`
    case "image":
      return image(part)
    case "file":
      return `<p class="note">[${escaped(attachment(part))}]</p>`
    case "tool_call":
      return folded(`calls ${part.name}`, pretty(part.arguments).text, "call")
  }
}

const result = (message: Message): string =>
  `<section class="tool">${
    folded(
      `result of ${resultName(message)}${message.is_error === true ? " (error)" : ""}`,
      resultText(message),
      message.is_error === true ? "result error" : "result"
    )
  }${
    partsOf(message).map((part) => part.type === "image" && part.data !== undefined ? image(part) : "").join("")
  }</section>\n`

const blockHtml = (block: Block): ReadonlyArray<string> => {
  if (block.speaker === "tool") return block.messages.map(result)
  const parts = block.messages.flatMap(partsOf).map(partHtml).filter((part) => part !== "")
  return parts.length === 0
    ? []
    : [`<section class="${block.speaker}"><h2>${headings[block.speaker]}</h2>\n${parts.join("\n")}\n</section>\n`]
}

/**
 * The page in pieces. Title, facts, then the conversation without what was withdrawn or hidden.
 *
 * @since 0.1.0
 * @category encoding
 */
export function* htmlPieces(transcript: Transcript): Generator<string> {
  const { session } = transcript
  const facts: ReadonlyArray<readonly [string, string]> = [
    ["Session", session.id],
    ...(session.parent_session_id === null ? [] : [["From", session.parent_session_id] as const]),
    ["Workspace", line(session.workspace, 1000)],
    ["Model", line(`${session.provider}/${session.model}`, 200)],
    ["Started", time(session.started_at)],
    ...(session.ended_at === null
      ? []
      : [["Ended", `${time(session.ended_at)} (${line(session.end_reason ?? "", 80)})`] as const]),
    ["Messages", `${session.message_count}, tool calls: ${session.tool_call_count}`],
    ["Tokens", `${tokens(session.usage)}${session.cost_usd === null ? "" : `; cost: ${dollars(session.cost_usd)}`}`]
  ]
  yield [
    "<!doctype html>",
    "<html lang=\"en\"><head><meta charset=\"utf-8\">",
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:; " +
    "base-uri 'none'; form-action 'none'\">",
    "<meta name=\"referrer\" content=\"no-referrer\"><meta name=\"viewport\" content=\"width=device-width\">",
    `<title>${escaped(titled(session))}</title><style>${style}</style></head><body>`,
    `<h1>${escaped(titled(session))}</h1>`,
    `<dl>${facts.map(([name, value]) => `<dt>${name}</dt><dd>${escaped(value)}</dd>`).join("")}</dl>`,
    ""
  ].join("\n")
  yield* withEndings(transcript, blockHtml, (note) => `<p class="note">${escaped(note)}</p>\n`)
  yield "</body></html>\n"
}
