/** How each wire says that something failed. */
import type { Fault, Wire } from "./Options.ts"
import type { Plan, WireEvent } from "./Plan.ts"

const anthropicTypes: Readonly<Record<number, string>> = {
  400: "invalid_request_error",
  401: "authentication_error",
  402: "billing_error",
  403: "permission_error",
  404: "not_found_error",
  413: "request_too_large",
  422: "invalid_request_error",
  429: "rate_limit_error",
  504: "timeout_error",
  529: "overloaded_error"
}
const openaiTypes: Readonly<Record<number, string>> = {
  429: "rate_limit_error",
  500: "server_error",
  502: "server_error",
  503: "server_error",
  504: "server_error",
  529: "server_error"
}
const openaiCodes: Readonly<Record<number, string>> = {
  401: "invalid_api_key",
  404: "model_not_found",
  429: "rate_limit_exceeded",
  503: "server_is_overloaded",
  529: "server_is_overloaded"
}

/** The wire's own words for an answer that is not 200. */
export const errorBody = (
  anthropic: boolean,
  status: number,
  message: string,
  requestId: string,
  extra: {
    readonly type?: string | undefined
    readonly code?: string | null | undefined
    readonly param?: string | null | undefined
  } = {}
): string =>
  JSON.stringify(
    anthropic
      ? {
        type: "error",
        error: {
          type: extra.type ?? anthropicTypes[status] ?? (status < 500 ? "invalid_request_error" : "api_error"),
          message
        },
        request_id: requestId
      }
      : {
        error: {
          message,
          type: extra.type ?? openaiTypes[status] ?? (status < 500 ? "invalid_request_error" : "server_error"),
          param: extra.param ?? null,
          code: extra.code === undefined ? openaiCodes[status] ?? null : extra.code
        }
      }
  )

/** The wire's own words for a failure in mid-stream. */
export const failureEvents = (
  wire: Wire,
  fault: Extract<Fault, { kind: "error_event" }>,
  plan: Plan,
  sent: number
): ReadonlyArray<WireEvent> => {
  const message = fault.message ?? "scripted failure in mid-stream"
  if (wire === "anthropic") {
    const error = { type: fault.type ?? "overloaded_error", message }
    return [{ event: "error", data: JSON.stringify({ type: "error", error }) }]
  }
  const code = fault.code ?? "server_error"
  if (wire === "chat") {
    return [{ data: JSON.stringify({ error: { message, type: fault.type ?? "server_error", param: null, code } }) }]
  }
  if (fault.form === "error") {
    return [{
      event: "error",
      data: JSON.stringify({ type: "error", sequence_number: sent, code, message, param: null })
    }]
  }
  return [{
    event: "response.failed",
    data: JSON.stringify({
      type: "response.failed",
      sequence_number: sent,
      response: {
        id: plan.id,
        object: "response",
        created_at: plan.created,
        status: "failed",
        error: { code, message },
        incomplete_details: null,
        model: plan.model,
        output: [],
        usage: null
      }
    })
  }]
}
