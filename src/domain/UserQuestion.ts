/**
 * Questions to a person that are no permissions: a form to fill in, an address to open. Asked by MCP servers (reading
 * 1.12), answered by whoever sits in front of the program.
 *
 * @since 0.1.0
 */

/** @since 0.1.0 @category models */
export interface QuestionChoice {
  readonly value: string
  readonly title: string
}

/** `format`: email, uri, date or date-time. @since 0.1.0 @category models */
export type QuestionField =
  & {
    readonly name: string
    readonly title: string | null
    readonly description: string | null
    readonly required: boolean
  }
  & (
    | {
      readonly kind: "string"
      readonly min_length?: number
      readonly max_length?: number
      readonly format?: "email" | "uri" | "date" | "date-time"
      readonly default?: string
    }
    | {
      readonly kind: "number" | "integer"
      readonly minimum?: number
      readonly maximum?: number
      readonly default?: number
    }
    | { readonly kind: "boolean"; readonly default?: boolean }
    | { readonly kind: "choice"; readonly choices: ReadonlyArray<QuestionChoice>; readonly default?: string }
    | {
      readonly kind: "choices"
      readonly choices: ReadonlyArray<QuestionChoice>
      readonly min_items?: number
      readonly max_items?: number
      readonly default?: ReadonlyArray<string>
    }
  )

/** @since 0.1.0 @category models */
export type QuestionValue = string | number | boolean | ReadonlyArray<string>

/**
 * `from` is who asks, for example an MCP server's name. An address is shown whole, with its host; nothing opens or
 * fetches it unasked.
 *
 * @since 0.1.0
 * @category models
 */
export type UserQuestion =
  | {
    readonly kind: "form"
    readonly from: string
    readonly message: string
    readonly fields: ReadonlyArray<QuestionField>
    /** What is wrong with a value, in words; null = it fits. */
    readonly check: (field: QuestionField, value: unknown) => string | null
  }
  | {
    readonly kind: "url"
    readonly from: string
    readonly message: string
    readonly url: string
    readonly host: string
  }

/** `accept` has the values of a form; those left out take their defaults. `escalate` passes to the next one who can be asked. @since 0.1.0 @category models */
export type UserAnswer =
  | { readonly action: "accept"; readonly content?: { readonly [name: string]: QuestionValue } }
  | { readonly action: "decline" }
  | { readonly action: "cancel" }
  | { readonly action: "escalate" }
