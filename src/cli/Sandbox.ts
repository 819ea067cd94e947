/**
 * `hanzo-dev sandbox status|exec`: what is enforced here, and a command run as a tool would run it.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import { line } from "../codec/TerminalText.ts"
import { ExitCode } from "../domain/Failure.ts"
import type { ProcessError } from "../platform/ProcessError.ts"
import { Terminal } from "../platform/Terminal.ts"
import { sandboxExec, sandboxStatus } from "../sandbox/Enforcing.ts"
import { Sandbox } from "../sandbox/Sandbox.ts"
import { CliExit, failed, usage } from "./Exit.ts"
import { columns, print, printJson, soundConfig, stdoutExit } from "./Output.ts"
import type { SandboxStatus } from "./Schemas.ts"
import type * as Spec from "./Spec.ts"

/** The document of `sandbox status --json`. @since 0.1.0 @category constructors */
export const document: Effect.Effect<SandboxStatus, never, Sandbox> = Effect.gen(function*() {
  const sandbox = yield* Sandbox
  const status = yield* sandboxStatus
  return { v: 1, ...status, refusal: yield* sandbox.refusal }
})

const ways: Readonly<Record<SandboxStatus["enforcement"], string>> = {
  bubblewrap: "the kernel, through bubblewrap",
  unshare: "the kernel, through unshare",
  path_check: "path checks of file tools only; commands are not held back",
  off: "nothing"
}

const networks: Readonly<Record<SandboxStatus["network"], string>> = {
  isolated: "none for commands",
  filtered: "the allowed names only, through a proxy",
  shared: "not restricted"
}

/** @since 0.1.0 @category encoding */
export const statusText = (status: SandboxStatus): string => {
  const requested = status.requested_mode === null
    ? "not set"
    : status.requested_mode === status.effective_mode
    ? "as set"
    : `set: ${status.requested_mode}`
  const failing = status.probes.filter((probe) => !probe.ok)
  return columns([
    ["mode", `${status.effective_mode} (${requested})`],
    ["enforced by", ways[status.enforcement]],
    ["network", networks[status.network]],
    ...(status.reason === null ? [] : [["why", line(status.reason, 2000)]]),
    ...(status.refusal === null ? [] : [["commands", `do not run: ${line(status.refusal, 2000)}`]]),
    ...status.write_roots.map((root, index) => [index === 0 ? "may write" : "", line(root, 1000)]),
    ...status.warnings.map((warning) => ["warning", line(warning, 1000)]),
    ...failing.map((probe) => ["probe", `${probe.name}: ${line(probe.detail, 500)}`])
  ])
}

/** @since 0.1.0 @category combinators */
export const status = Effect.fn("Cli.sandbox.status")(function*(values: Spec.Values<typeof Spec.sandboxStatus>) {
  yield* soundConfig
  const found = yield* document
  yield* values.json ? printJson(found) : print(statusText(found))
  return ExitCode.done
})

const signals: Readonly<Record<string, number>> = {
  SIGHUP: 1,
  SIGINT: 2,
  SIGQUIT: 3,
  SIGILL: 4,
  SIGTRAP: 5,
  SIGABRT: 6,
  SIGFPE: 8,
  SIGKILL: 9,
  SIGSEGV: 11,
  SIGPIPE: 13,
  SIGALRM: 14,
  SIGTERM: 15
}

/** What a shell says when a command does not start: 127 not found, 126 not executable. */
const processExit = (error: ProcessError): CliExit =>
  error.reason === "not_found" || error.reason === "not_executable"
    ? new CliExit({ exit_code: error.reason === "not_found" ? 127 : 126, lines: [error.message] })
    : failed(error.message)

/** Stdin goes to the command as it comes, its output to stdout and stderr as it comes. @since 0.1.0 @category combinators */
export const exec = Effect.fn("Cli.sandbox.exec")(function*(values: Spec.Values<typeof Spec.sandboxExec>) {
  const [program, ...args] = values.args
  if (program === undefined) return yield* usage("sandbox exec needs a command behind --")
  yield* soundConfig
  const terminal = yield* Terminal
  return yield* Effect.scoped(Effect.gen(function*() {
    const running = yield* Effect.mapError(sandboxExec([program, ...args], { stdin: "pipe" }), processExit)
    const feed = Stream.runForEach(terminal.bytes, running.write).pipe(
      // a command that reads no further, or a stdin that fails, is the end of its input
      Effect.ignore,
      Effect.zipRight(running.endInput)
    )
    // a read of stdin cannot be called back: the command's end does not wait for it
    yield* Effect.acquireRelease(Effect.interruptible(Effect.forkDaemon(feed)), Fiber.interruptFork)
    const decoder = new TextDecoder()
    yield* Stream.runForEach(running.output, ({ bytes, fd }) =>
      fd === 1
        ? Effect.mapError(terminal.out(bytes), stdoutExit)
        : terminal.err(decoder.decode(bytes, { stream: true })))
    const { code, signal } = yield* running.exit
    return code ?? 128 + (signals[signal ?? ""] ?? 0)
  }))
})
