/**
 * Opens an address in the user's browser. What is started belongs to the user: it outlives this program and is not
 * stopped with it.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as NodeChildProcess from "node:child_process"
import { childEnvironment } from "./ChildEnvironment.ts"
import { Environment, type EnvironmentService, variable } from "./Environment.ts"

/** @since 0.1.0 @category models */
export interface BrowserService {
  /** Why no browser can be opened here, in words for the user; null = one can be tried. */
  readonly missing: string | null
  /**
   * `false` = nothing took the address, or it is not http or https. The browser does not get the variables `drop`, nor
   * those that carry a credential by their names or values.
   */
  readonly open: (url: string, drop?: Iterable<string>) => Effect.Effect<boolean>
}

type Known = Pick<EnvironmentService, "vars" | "os">

const isWsl = (environment: Known): boolean =>
  environment.os === "linux" && variable(environment, "WSL_DISTRO_NAME") !== undefined

/**
 * Why no browser can be opened: over SSH it would open on the wrong machine, without a display nowhere.
 *
 * @since 0.1.0
 * @category combinators
 */
export const missingBrowser = (environment: Known): string | null => {
  if (["SSH_CONNECTION", "SSH_TTY", "SSH_CLIENT"].some((name) => variable(environment, name) !== undefined)) {
    return "this is a session over SSH"
  }
  if (environment.os === "darwin" || environment.os === "win32" || isWsl(environment)) return null
  return ["DISPLAY", "WAYLAND_DISPLAY", "BROWSER"].some((name) => variable(environment, name) !== undefined)
    ? null
    : "there is no display"
}

/**
 * The programs of `BROWSER`: several are separated by colons, `%s` in a word is the address, which else comes last. No
 * shell reads them.
 */
const named = (environment: Known, url: string): ReadonlyArray<readonly [string, ...ReadonlyArray<string>]> =>
  (variable(environment, "BROWSER") ?? "").split(":").flatMap((command) => {
    const [program, ...words] = command.trim().split(/\s+/u)
    if (program === undefined || program === "") return []
    const args = words.map((word) => word.replaceAll("%s", () => url))
    return [[program, ...args, ...(words.some((word) => word.includes("%s")) ? [] : [url])] as const]
  })

/** The programs that open addresses, best first, with the address as one argument. @since 0.1.0 @category combinators */
export const openers = (
  environment: Known,
  url: string
): ReadonlyArray<readonly [string, ...ReadonlyArray<string>]> => {
  switch (environment.os) {
    case "darwin":
      return [["open", url]]
    case "win32":
      // No shell: `start` would read `&` in the address.
      return [["rundll32.exe", "url.dll,FileProtocolHandler", url]]
    default:
      return [
        ...named(environment, url),
        ...(isWsl(environment) ? [["wslview", url] as const] : []),
        ["xdg-open", url]
      ]
  }
}

const start = (
  node: typeof NodeChildProcess,
  [program, ...args]: readonly [string, ...ReadonlyArray<string>],
  environment: EnvironmentService,
  drop: Iterable<string>
): Effect.Effect<boolean> =>
  Effect.async<boolean>((resume) => {
    try {
      const child = node.spawn(program, args, {
        cwd: environment.home,
        env: Object.fromEntries(childEnvironment(environment.vars, { drop })),
        detached: true,
        stdio: "ignore",
        shell: false,
        windowsHide: true
      })
      child.once("error", () => resume(Effect.succeed(false)))
      child.once("exit", (code) => resume(Effect.succeed(code === 0)))
      child.unref()
    } catch {
      resume(Effect.succeed(false))
    }
  })

/** An opener that still runs has the address: some are the browser itself. */
const graceMillis = 3000

const make = (environment: EnvironmentService): BrowserService => ({
  missing: missingBrowser(environment),
  open: (url, drop = []) =>
    Effect.gen(function*() {
      if (!URL.canParse(url) || !/^https?:$/u.test(new URL(url).protocol)) return false
      const node = yield* Effect.promise(() => import("node:child_process"))
      for (const argv of openers(environment, new URL(url).href)) {
        const taken = Effect.raceFirst(
          start(node, argv, environment, drop),
          Effect.as(Effect.sleep(graceMillis), true)
        )
        if (yield* taken) return true
      }
      return false
    })
})

/** @since 0.1.0 @category services */
export class Browser extends Context.Tag("@hanzo/dev/platform/Browser")<Browser, BrowserService>() {
  static readonly layer: Layer.Layer<Browser, never, Environment> = Layer.effect(Browser, Effect.map(Environment, make))
}
