/**
 * How snapshots are named in their repository and what their commits say of them. Pure.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import type { Snapshot } from "./Snapshots.ts"

const Subject = Schema.parseJson(Schema.Struct({
  v: Schema.Literal(1),
  id: Schema.String,
  session_id: Schema.String,
  key: Schema.NullOr(Schema.String),
  kind: Schema.Literal("before", "after", "present", "restored"),
  at: Schema.Number,
  changed: Schema.Number
}))

const decodeSubject = Schema.decodeUnknownOption(Subject)

/** Sorts by time, then by the number in its process. @since 0.1.0 @category constructors */
export const idOf = (at: number, number: number, chance: number): string =>
  `${String(at).padStart(14, "0")}-${String(number).padStart(6, "0")}-${chance.toString(16).padStart(4, "0")}`

/** @since 0.1.0 @category encoding */
export const folderOf = (session_id: string): string =>
  `refs/snapshots/${
    session_id.replace(/[^A-Za-z0-9_-]/gu, (letter) => `%${(letter.codePointAt(0) ?? 0).toString(16)}`) || "%"
  }`

/** @since 0.1.0 @category encoding */
export const refOf = (session_id: string, id: string): string => `${folderOf(session_id)}/${id}`

/** One line of ascii. @since 0.1.0 @category encoding */
export const subjectOf = (snapshot: Snapshot): string =>
  JSON.stringify({ v: 1, ...snapshot }).replace(
    /[^\u0020-\u007e]/gu,
    (letter) =>
      [...Array(letter.length).keys()].map((n) => `\\u${letter.charCodeAt(n).toString(16).padStart(4, "0")}`).join("")
  )

/** Those whose commits can be read, oldest first. @since 0.1.0 @category decoding */
export const snapshotsOf = (subjects: string): ReadonlyArray<Snapshot> =>
  subjects.split("\n").flatMap((line) => {
    const read = decodeSubject(line)
    if (read._tag === "None") return []
    const { v: _, ...snapshot } = read.value
    return [snapshot]
  }).sort((a, b) => a.id < b.id ? -1 : a.id > b.id ? 1 : 0)
