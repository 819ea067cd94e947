/**
 * What a child wrote and nobody has taken yet: a buffer between the pipes and their readers.
 *
 * A pipe with a reader is paused while more than `high` bytes wait for it, so that a slow reader slows the child and
 * memory stays bounded. A pipe without a reader is drained all the same: its first `unread` bytes are kept, the rest is
 * dropped, so that no child ever stalls on output nobody wants.
 *
 * @since 0.1.0
 */
import type { Readable } from "node:stream"

/** @since 0.1.0 @category models */
export type Descriptor = 1 | 2

/** @since 0.1.0 @category models */
export interface OutputChunk {
  /** 1 = stdout, 2 = stderr. */
  readonly fd: Descriptor
  readonly bytes: Uint8Array
}

const high = 256 * 1024
const unread = 1024 * 1024
/** After the child's end its last words are read without pause, up to this: more than any pipe holds. */
const last = 4 * 1024 * 1024

/** @since 0.1.0 @category models */
export interface ProcessOutput {
  /** Declares a reader; from now on the pipes of `fds` push back. */
  readonly open: (fds: ReadonlyArray<Descriptor>) => void
  /** The reader has gone: what comes is drained and dropped. */
  readonly release: (fds: ReadonlyArray<Descriptor>) => void
  /** All waiting chunks in the order of arrival; `undefined` = nothing waits; empty = the end. */
  readonly take: (fds: ReadonlyArray<Descriptor>) => ReadonlyArray<OutputChunk> | undefined
  /** Calls back once when `take` has an answer; returns a canceller. */
  readonly wait: (fds: ReadonlyArray<Descriptor>, ready: () => void) => () => void
  /** The child has ended: no more pauses, so that its end cannot wait for a reader. */
  readonly unpause: () => void
  /** Closes the pipes; what was read stays takeable. */
  readonly close: () => void
}

interface Pipe {
  readonly fd: Descriptor
  readonly stream: Readable
  readonly chunks: Array<{ readonly seq: number; readonly bytes: Uint8Array }>
  size: number
  reader: "none" | "open" | "gone"
  ended: boolean
}

/**
 * `onEnd` is called once, when every pipe has reached its end.
 *
 * @since 0.1.0
 * @category constructors
 */
export const makeProcessOutput = (
  streams: ReadonlyArray<readonly [Descriptor, Readable | null]>,
  onEnd: () => void
): ProcessOutput => {
  let seq = 0
  let finishing = false
  const waiting = new Set<{ readonly fds: ReadonlyArray<Descriptor>; readonly ready: () => void }>()
  const pipes: Array<Pipe> = []

  const of = (fds: ReadonlyArray<Descriptor>): Array<Pipe> => pipes.filter((pipe) => fds.includes(pipe.fd))
  const answered = (fds: ReadonlyArray<Descriptor>): boolean => {
    const mine = of(fds)
    return mine.some((pipe) => pipe.chunks.length > 0) || mine.every((pipe) => pipe.ended)
  }
  const notify = (): void => {
    for (const waiter of waiting) {
      if (answered(waiter.fds)) {
        waiting.delete(waiter)
        waiter.ready()
      }
    }
  }
  const end = (pipe: Pipe): void => {
    if (pipe.ended) return
    pipe.ended = true
    notify()
    if (pipes.every((other) => other.ended)) onEnd()
  }

  for (const [fd, stream] of streams) {
    if (stream === null) continue
    const pipe: Pipe = { fd, stream, chunks: [], size: 0, reader: "none", ended: false }
    pipes.push(pipe)
    stream.on("data", (data: Uint8Array) => {
      const limit = finishing ? last : pipe.reader === "none" ? unread : Infinity
      if (pipe.reader === "gone" || pipe.size + data.byteLength > limit) return
      pipe.chunks.push({ seq: seq++, bytes: new Uint8Array(data.buffer, data.byteOffset, data.byteLength) })
      pipe.size += data.byteLength
      if (pipe.reader === "open" && pipe.size > high && !finishing) stream.pause()
      notify()
    })
    stream.on("end", () => end(pipe))
    stream.on("close", () => end(pipe))
    stream.on("error", () => end(pipe))
  }

  return {
    open: (fds) => {
      for (const pipe of of(fds)) pipe.reader = "open"
    },
    release: (fds) => {
      for (const pipe of of(fds)) {
        pipe.reader = "gone"
        pipe.chunks.length = 0
        pipe.size = 0
        pipe.stream.resume()
      }
    },
    take: (fds) => {
      if (!answered(fds)) return undefined
      const mine = of(fds)
      const [only] = mine
      if (only !== undefined && mine.length === 1) {
        const taken = only.chunks.splice(0)
        only.size = 0
        if (!only.ended) only.stream.resume()
        return taken.map(({ bytes }) => ({ fd: only.fd, bytes }))
      }
      const all = mine.flatMap((pipe) => pipe.chunks.map(({ bytes, seq }) => ({ fd: pipe.fd, bytes, seq })))
      for (const pipe of mine) {
        pipe.chunks.length = 0
        pipe.size = 0
        if (!pipe.ended) pipe.stream.resume()
      }
      return all.sort((a, b) => a.seq - b.seq).map(({ bytes, fd }) => ({ fd, bytes }))
    },
    wait: (fds, ready) => {
      const waiter = { fds, ready }
      if (answered(fds)) ready()
      else waiting.add(waiter)
      return () => void waiting.delete(waiter)
    },
    unpause: () => {
      finishing = true
      for (const pipe of pipes) pipe.stream.resume()
    },
    close: () => {
      for (const pipe of pipes) {
        pipe.stream.destroy()
        end(pipe)
      }
    }
  }
}
