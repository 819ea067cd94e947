/**
 * Have the programs of a command changed since they were bound? Their content counts, and whether something has appeared
 * that would be taken in their place (reading 9.9). As long as nothing is touched, one system call for each.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { createHash } from "node:crypto"
import * as fs from "node:fs"
import * as path from "node:path"
import { isProgramName } from "../codec/ProgramLine.ts"
import type { MissingProgram, ProgramPlaces } from "./ProgramFiles.ts"

/** @since 0.1.0 @category models */
export interface ProgramWatch {
  /** What has happened to which file, without the reason to look; null = nothing. */
  readonly changed: Effect.Effect<string | null>
  /** Bind what there is now; what had to stay missing still has to. */
  readonly renew: Effect.Effect<void>
}

interface State {
  readonly stamp: string
  /** Null where it is too large: then the stamp alone counts. */
  readonly sha256: string | null
}

const max_entries = 2000
const max_hashed = 1_048_576
const max_hashed_together = 16_777_216

const skipped: ReadonlySet<string> = new Set(["__pycache__", ".git", ".cache"])

const statsOf = (at: string): fs.BigIntStats | null => {
  try {
    return fs.statSync(at, { bigint: true, throwIfNoEntry: false }) ?? null
  } catch {
    return null
  }
}

const stampOf = (stats: fs.BigIntStats): string =>
  `${stats.dev}.${stats.ino}.${stats.size}.${stats.mtimeNs}.${stats.ctimeNs}`

const hashOf = (at: string): string | null => {
  try {
    return createHash("sha256").update(fs.readFileSync(at)).digest("hex")
  } catch {
    return null
  }
}

/** The files that count at a place: itself, or what is run of a directory. */
const filesAt = (place: string): ReadonlyMap<string, fs.BigIntStats> => {
  const found = new Map<string, fs.BigIntStats>()
  const top = statsOf(place)
  if (top === null) return found
  if (!top.isDirectory()) return found.set(place, top)
  const todo = [place]
  let seen = 0
  for (let directory = todo.pop(); directory !== undefined; directory = todo.pop()) {
    let entries: ReadonlyArray<fs.Dirent> = []
    try {
      entries = fs.readdirSync(directory, { withFileTypes: true })
    } catch {
      continue
    }
    for (const entry of entries) {
      if (++seen > max_entries) return found
      const at = path.join(directory, entry.name)
      if (entry.isDirectory()) {
        if (!skipped.has(entry.name)) todo.push(at)
        continue
      }
      const stats = statsOf(at)
      // Data that a program keeps beside itself is its own.
      if (stats?.isFile() === true && (isProgramName(entry.name) || (stats.mode & 0o111n) !== 0n)) found.set(at, stats)
    }
  }
  return found
}

/** What is empty may be a mount point of a sandbox, where one of that kind has no effect. */
const appeared = ({ missing, path: at }: MissingProgram): boolean => {
  try {
    const stats = fs.lstatSync(at, { throwIfNoEntry: false })
    if (stats === undefined) return false
    if (stats.isDirectory()) return missing === "aside" || fs.readdirSync(at).length > 0
    return missing !== "file" || !stats.isFile() || stats.size > 0
  } catch {
    return false
  }
}

/** @since 0.1.0 @category constructors */
export const watchPrograms = ({ missing, run }: ProgramPlaces): Effect.Effect<ProgramWatch> =>
  Effect.sync(() => {
    const look = (known: ReadonlyMap<string, State>): ReadonlyMap<string, State> => {
      const states = new Map<string, State>()
      let budget = max_hashed_together
      for (const place of run) {
        for (const [at, stats] of filesAt(place)) {
          const stamp = stampOf(stats)
          const before = known.get(at)
          const size = Number(stats.size)
          if (before?.stamp === stamp) states.set(at, before)
          else {
            const hashed = size <= max_hashed && size <= budget
            if (hashed) budget -= size
            states.set(at, { stamp, sha256: hashed ? hashOf(at) : null })
          }
        }
      }
      return states
    }
    let bound = look(new Map())
    return {
      renew: Effect.sync(() => {
        bound = look(bound)
      }),
      changed: Effect.sync(() => {
        const now = look(bound)
        for (const [at, { sha256, stamp }] of bound) {
          const state = now.get(at)
          if (state === undefined) return `${at} has gone since the session began`
          if (state.stamp !== stamp && (sha256 === null || state.sha256 !== sha256)) {
            return `${at} has changed since the session began`
          }
        }
        for (const at of now.keys()) if (!bound.has(at)) return `${at} has appeared since the session began`
        const taken = missing.find(appeared)
        return taken === undefined ? null : `${taken.path} has appeared since the session began`
      })
    }
  })
