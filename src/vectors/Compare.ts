/**
 * Does an answer satisfy a case (reading 18.3)?
 *
 * @since 0.1.0
 */
import type { Fields } from "./Domain.ts"
import { isFields } from "./Domain.ts"
import type { VectorCase } from "./VectorFile.ts"

/** An answer as it came. @since 0.1.0 @category models */
export type Answer = { readonly output: unknown } | { readonly error: { readonly code: string } }

/** The first place that differs; `path` is dotted and starts with `output` or `error`. @since 0.1.0 @category models */
export interface Mismatch {
  readonly path: string
  readonly expected: unknown
  readonly got: unknown
}

/** Stands where a key is missing, which is not the same as `null`. @since 0.1.0 @category constants */
export const missing = "(absent)"

const differing = (expected: unknown, got: unknown, path: string): Mismatch | null => {
  if (Array.isArray(expected)) {
    if (!Array.isArray(got)) return { path, expected, got }
    for (let i = 0; i < Math.min(expected.length, got.length); i++) {
      const found = differing(expected[i], got[i], `${path}.${i}`)
      if (found !== null) return found
    }
    return expected.length === got.length
      ? null
      : { path: `${path}.length`, expected: expected.length, got: got.length }
  }
  if (isFields(expected)) {
    if (!isFields(got)) return { path, expected, got }
    const keys = Object.keys(expected)
    if (keys.length === 0 && Object.keys(got).length > 0) return { path, expected, got }
    for (const key of keys) {
      const found = Object.hasOwn(got, key)
        ? differing(expected[key], got[key], `${path}.${key}`)
        : { path: `${path}.${key}`, expected: expected[key], got: missing }
      if (found !== null) return found
    }
    return null
  }
  return expected === got ? null : { path, expected, got }
}

const present = (value: unknown, path: string): { readonly value: unknown } | null => {
  let at = value
  for (const key of path.split(".")) {
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, key)) return null
    at = (at as Fields)[key]
  }
  return { value: at }
}

/** The first mismatch, or null when the answer is right. @since 0.1.0 @category combinators */
export const compare = (vector: Pick<VectorCase, "expected" | "absent">, answer: Answer): Mismatch | null => {
  const { expected } = vector
  if ("error" in expected) {
    if (!("error" in answer)) return { path: "error", expected: expected.error, got: { output: answer.output } }
    return expected.error.code === answer.error.code
      ? null
      : { path: "error.code", expected: expected.error.code, got: answer.error.code }
  }
  if (!("output" in answer)) return { path: "output", expected: expected.output, got: { error: answer.error } }
  const found = differing(expected.output, answer.output, "output")
  if (found !== null) return found
  for (const path of vector.absent ?? []) {
    const there = present(answer.output, path)
    if (there !== null) return { path: `output.${path}`, expected: missing, got: there.value }
  }
  return null
}
