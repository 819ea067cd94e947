import type { ResponseEvent } from "../../src/domain/ResponseEvent.ts"

/** Whether an event of a model's answer is its last one. */
export const isTerminal = (event: ResponseEvent): boolean =>
  event.type === "response.completed" || event.type === "response.incomplete" || event.type === "response.failed"
