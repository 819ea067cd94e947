/**
 * The three standard streams and lines typed by a person. stdout carries the answer or the protocol and nothing else;
 * everything for people goes to stderr (effect-style 3.6, rule 9).
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Runtime from "effect/Runtime"
import * as Stream from "effect/Stream"
import { fstatSync, statSync } from "node:fs"
import type * as Readline from "node:readline"
import { isatty } from "node:tty"
import { TaggedError } from "../domain/TaggedError.ts"
import * as Layers from "../domain/Layers.ts"

/**
 * `closed`: whoever read stdout has gone (EPIPE), which is a quiet end. `write`: stdout cannot take the bytes. `read`:
 * stdin failed. `too_large`: stdin passed its limit.
 *
 * @since 0.1.0
 * @category errors
 */
export class TerminalError extends TaggedError("@hanzo/dev/platform/TerminalError")(
  "TerminalError",
  () => ({ reason: Schema.Literal("closed", "write", "read", "too_large"), message: Schema.String })
) {}

/** One answer of a person: a text (several lines when they were pasted), Ctrl-C, or the end of input. @since 0.1.0 @category models */
export type Line =
  | { readonly type: "line"; readonly text: string }
  | { readonly type: "interrupt" }
  | { readonly type: "end" }

/** @since 0.1.0 @category models */
export type StdinKind = "terminal" | "file" | "pipe" | "socket"

/** @since 0.1.0 @category models */
export interface TerminalService {
  /** Returns when it has been handed to the system: a slow reader slows the writer. */
  readonly out: (text: string | Uint8Array) => Effect.Effect<void, TerminalError>
  /** Best effort: what cannot be written to stderr is lost. */
  readonly err: (text: string) => Effect.Effect<void>
  readonly columns: Effect.Effect<number>
  readonly stdin_kind: StdinKind
  /**
   * Everything on stdin as text, at most `max_bytes`. With `first_byte_ms`, none when nothing at all came in that time;
   * `quiet` is then told when nothing has come for `quiet.after_ms`.
   */
  readonly readAll: (
    limits: {
      readonly max_bytes: number
      readonly first_byte_ms?: number
      readonly quiet?: { readonly after_ms: number; readonly tell: Effect.Effect<void> }
    }
  ) => Effect.Effect<Option.Option<string>, TerminalError>
  /** Stdin as it is read, an element a read; ends with it. Not to be mixed with the other readers. */
  readonly bytes: Stream.Stream<Uint8Array, TerminalError>
  /** Lines of stdin without their ends; ends with stdin. Not to be mixed with the other readers. */
  readonly lines: Stream.Stream<string, TerminalError>
  /** Asks a person on the terminal; several calls must not overlap. */
  readonly readLine: (prompt: string, options?: LineOptions) => Effect.Effect<Line>
}

/**
 * `fresh`: what was typed before the question stood there is no answer to it. Such lines go to the history, where they can
 * be called up again. `complete` is asked, with Tab, what a line that begins with a slash may go on to.
 *
 * @since 0.1.0
 * @category models
 */
export interface LineOptions {
  readonly fresh?: boolean
  readonly complete?: (text: string) => Effect.Effect<ReadonlyArray<string>>
}

/** What a test terminal reads, and where it writes to. @since 0.1.0 @category models */
export interface TestTerminal {
  /** Whole stdin for `readAll` and `lines`; undefined = a stdin that says nothing. */
  readonly stdin?: string
  readonly stdin_kind?: StdinKind
  readonly columns?: number
  readonly out?: Array<string>
  readonly err?: Array<string>
  /** Answers of the person, in order, then the end of input. */
  readonly readLine?: (prompt: string, options?: LineOptions) => Effect.Effect<Line>
  /** From this write on, stdout is closed. */
  readonly closed_after?: number
  /** Stdout goes to a full disk. */
  readonly full?: true
}

const describe = (error: unknown): string => error instanceof Error ? error.message : String(error)

const writeTo = (stream: NodeJS.WriteStream, text: string | Uint8Array): Effect.Effect<void, TerminalError> =>
  Effect.async((resume) => {
    stream.write(text, (error) => {
      if (error === undefined || error === null) return resume(Effect.void)
      const code = "code" in error ? error.code : ""
      const closed = code === "EPIPE" || code === "ERR_STREAM_DESTROYED" || code === "EOF" || code === "ECONNRESET"
      resume(Effect.fail(new TerminalError({ reason: closed ? "closed" : "write", message: describe(error) })))
    })
  })

const kindOf = (): StdinKind => {
  if (isatty(0)) return "terminal"
  try {
    const info = fstatSync(0)
    return info.isFIFO() ? "pipe" : info.isSocket() ? "socket" : "file"
  } catch {
    return "file"
  }
}

/** Nothing is ever read from there, so the stream for it need not be made. */
const isNullDevice = (): boolean => {
  try {
    const info = fstatSync(0)
    return info.isCharacterDevice() && info.rdev === statSync("/dev/null").rdev
  } catch {
    return false
  }
}

const readError = (error: unknown): TerminalError => new TerminalError({ reason: "read", message: describe(error) })

/** Waits until stdin has a byte or has ended. */
const firstByte: Effect.Effect<void> = Effect.async((resume) => {
  const stdin = process.stdin
  const done = (): void => resume(Effect.void)
  if (stdin.readableEnded || stdin.readableLength > 0) return done()
  stdin.once("readable", done)
  stdin.once("end", done)
  stdin.once("error", done)
  return Effect.sync(() => {
    stdin.off("readable", done)
    stdin.off("end", done)
    stdin.off("error", done)
  })
})

const collect = (max_bytes: number): Effect.Effect<string, TerminalError> =>
  Effect.async((resume) => {
    if (isNullDevice()) return resume(Effect.succeed(""))
    const stdin = process.stdin
    const chunks: Array<Uint8Array> = []
    let size = 0
    const clean = (): void => {
      stdin.off("data", onData)
      stdin.off("end", onEnd)
      stdin.off("error", onError)
      stdin.pause()
    }
    const onData = (chunk: Uint8Array): void => {
      size += chunk.length
      chunks.push(chunk)
      if (size > max_bytes) {
        clean()
        resume(
          new TerminalError({ reason: "too_large", message: `stdin holds more than ${max_bytes} bytes` })
        )
      }
    }
    const onEnd = (): void => {
      clean()
      resume(Effect.succeed(Buffer.concat(chunks).toString("utf8")))
    }
    const onError = (error: unknown): void => {
      clean()
      resume(readError(error))
    }
    if (stdin.readableEnded) return resume(Effect.succeed(""))
    stdin.on("data", onData)
    stdin.on("end", onEnd)
    stdin.on("error", onError)
    return Effect.sync(clean)
  })

/** A pasted text arrives as a burst of lines; a person types no two lines in this time. */
const burstMs = 25

const history: Array<string> = []

/**
 * Ctrl-D in the terminal's ordinary mode, while the agent works, is a mark of the end that nobody reads there; in the
 * mode of the line editor the same mark reads as NUL.
 */
const endBefore = "\0"

/** The end was typed ahead: it is the answer to every question from then on. */
let ended = false

/**
 * One question with an own line editor, closed again after the answer: while the agent works, the terminal is in its
 * ordinary mode and Ctrl-C is a signal.
 */
const ask = (prompt: string, options: LineOptions = {}): Effect.Effect<Line> =>
  Effect.suspend(() =>
    ended
      ? Effect.succeed<Line>({ type: "end" })
      // Loaded at the first question: a run that asks nobody does without it.
      : Effect.flatMap(
        Effect.zip(Effect.promise(() => import("node:readline")), Effect.runtime<never>()),
        ([readline, runtime]) =>
          askWith(readline, prompt, options.fresh === true, completerOf(runtime, options.complete))
      )
  )

/** A tab elsewhere is a tab. */
const completerOf = (
  runtime: Runtime.Runtime<never>,
  complete: LineOptions["complete"]
): Readline.AsyncCompleter | undefined =>
  complete === undefined ? undefined : (text, done) => {
    if (!text.startsWith("/")) return done(null, [["\t"], ""])
    Runtime.runFork(runtime)(
      Effect.match(Effect.sandbox(complete(text)), {
        onFailure: () => done(null, [[], text]),
        onSuccess: (found) => done(null, [[...found], text])
      })
    )
  }

/** Longer than what was typed before takes to arrive, shorter than a person takes to read and answer. */
const freshMs = 80

/** Milliseconds for the signal of a terminal that has gone. */
const lostMs = 500

const askWith = (
  readline: typeof Readline,
  prompt: string,
  fresh: boolean,
  completer: Readline.AsyncCompleter | undefined
): Effect.Effect<Line> =>
  Effect.async((resume) => {
    const { stdin, stdout } = process
    const editor = readline.createInterface({
      input: stdin,
      output: stdout,
      prompt,
      ...(completer === undefined ? {} : { completer }),
      history: [...history],
      historySize: 500,
      removeHistoryDuplicates: true,
      escapeCodeTimeout: 50
    })
    const lines: Array<string> = []
    let pasting = false
    let timer: NodeJS.Timeout | undefined
    let answered = false
    let typedBefore = true
    let lost = false

    const onKey = (
      _text: unknown,
      key: { readonly name?: string; readonly sequence?: string } | undefined
    ): void => {
      if (key?.name === "paste-start") pasting = true
      else if (key?.name === "paste-end") pasting = false
      else if (key?.sequence === endBefore && typedBefore && editor.line === "") {
        ended = true
        // a line that was typed before it is answered first
        if (lines.length === 0) answer({ type: "end" })
      }
    }
    const close = (): void => {
      answered = true
      clearTimeout(timer)
      clearTimeout(early)
      stdin.off("keypress", onKey)
      if (stdout.isTTY) stdout.write("\u001b[?2004l")
      editor.close()
      stdin.pause()
    }
    const answer = (line: Line): void => {
      if (answered) return
      close()
      if (line.type === "line" && line.text.trim() !== "") history.unshift(line.text)
      resume(Effect.succeed(line))
    }
    const finish = (): void => {
      // the last piece of a paste without an end of line is still being edited: it waits for the person
      if (editor.line === "") answer({ type: "line", text: lines.join("\n") })
    }

    editor.on("line", (text) => {
      clearTimeout(timer)
      if (fresh && typedBefore) {
        if (text.trim() !== "") history.unshift(text)
        editor.prompt()
        return
      }
      if (!pasting && text.endsWith("\\")) {
        lines.push(text.slice(0, -1))
        editor.setPrompt("... ")
        editor.prompt()
        return
      }
      lines.push(text)
      if (!pasting) timer = setTimeout(finish, burstMs)
    })
    editor.on("SIGINT", () => answer({ type: "interrupt" }))
    // the terminal has gone: SIGHUP says so, too, and is what ends the program; without a listener this would
    editor.on("error", () => {
      lost = true
    })
    editor.on("close", () => {
      const last: Line = lines.length > 0 ? { type: "line", text: lines.join("\n") } : { type: "end" }
      if (!lost) return answer(last)
      setTimeout(() => answer(last), lostMs)
    })
    stdin.on("keypress", onKey)
    // what was typed before is read in the first turn of the loop after the terminal has changed its mode
    const early = setTimeout(() =>
      setImmediate(() => {
        typedBefore = false
        if (fresh && editor.line !== "") editor.write(null, { ctrl: true, name: "u" })
      }), fresh ? freshMs : burstMs)
    if (stdout.isTTY) stdout.write("\u001b[?2004h")
    editor.prompt()
    return Effect.sync(close)
  })

const stdinBytes: Stream.Stream<Uint8Array, TerminalError> = Stream.suspend(() =>
  Stream.fromAsyncIterable<Uint8Array, TerminalError>({
    // Without `return`: that of Node's iterator waits for the next bytes, and an interruption would wait with it for as long
    // as whoever holds the other end says nothing.
    [Symbol.asyncIterator]: () => {
      const bytes = (process.stdin as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]()
      return { next: () => bytes.next() }
    }
  }, readError)
).pipe(Stream.ensuring(Effect.sync(() => process.stdin.destroy())))

const linesOf = <E>(bytes: Stream.Stream<Uint8Array, E>): Stream.Stream<string, E> =>
  bytes.pipe(Stream.decodeText(), Stream.splitLines)

/** @since 0.1.0 @category services */
export class Terminal extends Context.Tag("@hanzo/dev/platform/Terminal")<Terminal, TerminalService>() {
  static readonly layer: Layer.Layer<Terminal> = Layers.sync(Terminal, () => {
    // a failed write answers its own caller; without a listener it would also end the process
    const ignore = (): void => {}
    process.stdout.on("error", ignore)
    process.stderr.on("error", ignore)
    return {
      out: (text) => text.length === 0 ? Effect.void : writeTo(process.stdout, text),
      err: (text) => text === "" ? Effect.void : Effect.ignore(writeTo(process.stderr, text)),
      columns: Effect.sync(() => process.stdout.columns || process.stderr.columns || 80),
      stdin_kind: kindOf(),
      readAll: ({ first_byte_ms, max_bytes, quiet }) => {
        const all = Effect.map(collect(max_bytes), Option.some)
        const first = quiet === undefined
          ? firstByte
          : Effect.raceFirst(firstByte, Effect.zipRight(Effect.delay(quiet.tell, quiet.after_ms), Effect.never))
        return first_byte_ms === undefined ? all : first.pipe(
          Effect.timeoutOption(first_byte_ms),
          Effect.flatMap(Option.match({
            onNone: () => Effect.as(Effect.sync(() => process.stdin.pause()), Option.none<string>()),
            onSome: () => all
          }))
        )
      },
      bytes: stdinBytes,
      lines: linesOf(stdinBytes),
      readLine: ask
    }
  })

  /** Reads what it is given and writes to the given arrays. */
  static readonly layerTest = (given: TestTerminal = {}): Layer.Layer<Terminal> =>
    Layers.sync(Terminal, () => {
      let writes = 0
      return {
        out: (text) =>
          Effect.suspend(() => {
            if (given.full === true) {
              return new TerminalError({ reason: "write", message: "ENOSPC: no space left on device, write" })
            }
            if (writes >= (given.closed_after ?? Infinity)) {
              return new TerminalError({ reason: "closed", message: "write EPIPE" })
            }
            writes += 1
            given.out?.push(typeof text === "string" ? text : new TextDecoder().decode(text))
            return Effect.void
          }),
        err: (text) => Effect.sync(() => void given.err?.push(text)),
        columns: Effect.succeed(given.columns ?? 80),
        stdin_kind: given.stdin_kind ?? "file",
        readAll: ({ first_byte_ms, max_bytes, quiet }) =>
          given.stdin === undefined
            ? first_byte_ms === undefined
              ? Effect.succeedSome("")
              : Effect.raceFirst(
                Effect.delay(Effect.succeedNone, first_byte_ms),
                quiet === undefined
                  ? Effect.never
                  : Effect.zipRight(Effect.delay(quiet.tell, quiet.after_ms), Effect.never)
              )
            : Buffer.byteLength(given.stdin) > max_bytes
            ? Effect.fail(
              new TerminalError({ reason: "too_large", message: `stdin holds more than ${max_bytes} bytes` })
            )
            : Effect.succeedSome(given.stdin),
        bytes: Stream.make(new TextEncoder().encode(given.stdin ?? "")),
        lines: linesOf(Stream.make(new TextEncoder().encode(given.stdin ?? ""))),
        readLine: given.readLine ?? (() => Effect.succeed({ type: "end" }))
      }
    })
}
