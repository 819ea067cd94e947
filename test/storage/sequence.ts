/** What the writing processes say and the tests expect. */
import type { Message } from "../../src/domain/Message.ts"
import type { Entry } from "../../src/storage/SessionStore.ts"

const messageAt = (index: number): Message => {
  switch (index % 4) {
    case 0:
      return { role: "user", content: [{ type: "text", text: `question ${index} ${"ä".repeat(index % 97)}` }] }
    case 1:
      return { role: "assistant", content: [{ type: "reasoning", text: `thought ${index}` }] }
    case 2:
      return {
        role: "assistant",
        content: [{ type: "tool_call", id: `call_${index}`, name: "bash", arguments: `{"command":"echo ${index}"}` }]
      }
    default:
      return {
        role: "tool",
        tool_call_id: `call_${index - 1}`,
        tool_name: "bash",
        content: [{ type: "text", text: `${index} `.repeat(index % 40 === 3 ? 9000 : 5) }]
      }
  }
}

/** The same conversation in writer and reader. */
export const entryAt = (who: string, index: number): Entry => ({
  key: `${who}:${index}`,
  run_id: `run_${who}`,
  turn: Math.floor(index / 4),
  message: messageAt(index)
})
