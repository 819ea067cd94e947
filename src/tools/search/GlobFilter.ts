/**
 * Globs that choose files for a search, with the meaning that ripgrep's `--glob` has: those of `.gitignore` (without a
 * slash at any depth, with one from the starting directory), braces added, `!` in front excludes, the last match decides.
 *
 * @since 0.1.0
 */
import * as Either from "effect/Either"

/** @since 0.1.0 @category models */
export interface GlobFilter {
  /** The globs as ripgrep takes them. */
  readonly globs: ReadonlyArray<string>
  /** `relative` to the starting directory, with `/`. */
  readonly choose: (relative: string, is_directory: boolean) => "include" | "exclude" | "none"
}

const literal = (char: string): string => /[\\^$.*+?()[\]{}|/]/u.test(char) ? `\\${char}` : char

class BadGlob extends Error {}

/** The body of a regular expression for a glob that is matched against the whole path. */
const source = (glob: string): string => {
  let out = ""
  let depth = 0
  for (let i = 0; i < glob.length;) {
    const char = String.fromCodePoint(glob.codePointAt(i) ?? 0)
    const start = i === 0 || glob[i - 1] === "/"
    if (char === "*" && glob[i + 1] === "*" && start && (glob[i + 2] === "/" || i + 2 === glob.length)) {
      if (i + 2 === glob.length) {
        out += ".*"
        i += 2
      } else {
        out += "(?:.*/)?"
        i += 3
      }
    } else if (char === "*") {
      while (glob[i] === "*") i++
      out += "[^/]*"
    } else if (char === "?") {
      out += "[^/]"
      i++
    } else if (char === "[") {
      let end = i + 1
      const negated = glob[end] === "!" || glob[end] === "^"
      if (negated) end++
      const from = end
      if (glob[end] === "]") end++
      while (end < glob.length && glob[end] !== "]") end++
      if (end >= glob.length) throw new BadGlob("a [ is not closed")
      const body = glob.slice(from, end).replaceAll(/[\\\]^[]/gu, "\\$&")
      if (/([^-])-([^-])/u.test(body)) {
        for (const [, low = "", high = ""] of body.matchAll(/([^-])-([^-])/gu)) {
          if (low > high) throw new BadGlob(`the range ${low}-${high} is reversed`)
        }
      }
      out += `(?!/)[${negated ? "^" : ""}${body}]`
      i = end + 1
    } else if (char === "{") {
      depth++
      out += "(?:"
      i++
    } else if (char === "}" && depth > 0) {
      depth--
      out += ")"
      i++
    } else if (char === "}") {
      throw new BadGlob("a } closes nothing")
    } else if (char === "," && depth > 0) {
      out += "|"
      i++
    } else if (char === "\\") {
      if (i + 1 >= glob.length) throw new BadGlob("it ends in a backslash")
      const next = String.fromCodePoint(glob.codePointAt(i + 1) ?? 0)
      out += literal(next)
      i += 1 + next.length
    } else {
      out += literal(char)
      i += char.length
    }
  }
  if (depth > 0) throw new BadGlob("a { is not closed")
  return out
}

interface Rule {
  readonly include: boolean
  readonly directory_only: boolean
  readonly regex: RegExp
}

const compile = (glob: string): Rule => {
  const include = !glob.startsWith("!")
  let body = include ? glob : glob.slice(1)
  const directory_only = body.endsWith("/")
  if (directory_only) body = body.slice(0, -1)
  const anchored = body.includes("/")
  if (body.startsWith("/")) body = body.slice(1)
  if (body === "") throw new BadGlob("it is empty")
  if (!anchored) body = `**/${body}`
  // Everything inside, but not the directory itself.
  const inside = body.endsWith("/**") ? `${body}/*` : body
  return { include, directory_only, regex: new RegExp(`^${source(inside)}$`, "su") }
}

/** Left = what is wrong with the glob. @since 0.1.0 @category constructors */
export const globFilter = (globs: ReadonlyArray<string>): Either.Either<GlobFilter, string> => {
  const rules: Array<Rule> = []
  for (const glob of globs) {
    try {
      rules.push(compile(glob))
    } catch (error) {
      if (!(error instanceof BadGlob || error instanceof SyntaxError)) throw error
      return Either.left(`glob ${JSON.stringify(glob)} is not valid: ${error.message}`)
    }
  }
  const some = rules.some((rule) => rule.include)
  return Either.right({
    globs,
    choose: (relative, is_directory) => {
      for (let i = rules.length - 1; i >= 0; i--) {
        const rule = rules[i]
        if (rule === undefined || (rule.directory_only && !is_directory)) continue
        if (rule.regex.test(relative)) return rule.include ? "include" : "exclude"
      }
      return some && !is_directory ? "exclude" : "none"
    }
  })
}
