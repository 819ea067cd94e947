/**
 * What a command line may run of the files around it, as far as its text tells (reading 9.9): simple commands, words, the
 * texts inside of words that may name a file, and what the programs named there take without being told. Pure; nothing
 * is looked at.
 *
 * @since 0.1.0
 */

/** A simple command after quote removal. `written` are the targets of its output (`> FILE`), no program's. @since 0.1.0 @category models */
export interface SimpleCommand {
  readonly words: ReadonlyArray<string>
  readonly written: ReadonlyArray<string>
}

/** `computed`: it says by evaluation, substitution or a variable in a name what runs. @since 0.1.0 @category models */
export interface ProgramLine {
  readonly commands: ReadonlyArray<SimpleCommand>
  readonly computed: boolean
}

const tokens = /\d*&?>{1,2}[|&]?|[;&|()<`\n]|(?:[^\s'"\\;&|<>()`]|\\.|'[^']*'|"(?:[^"\\]|\\.)*")+/gsu

const unquoted = (token: string): string =>
  token.replace(/'([^']*)'|"((?:[^"\\]|\\.)*)"|\\(.)/gsu, (_, single, double, escaped) => {
    const quoted: unknown = single ?? double ?? escaped
    return typeof quoted === "string" ? quoted.replace(/\\(["\\$`])/gu, "$1") : ""
  })

/** Texts inside of it (`sh -c '...'`) too, each with commands of its own. @since 0.1.0 @category decoding */
export const parseProgramLine = (line: string): ProgramLine => {
  const commands: Array<SimpleCommand> = []
  let computed = false
  const todo: Array<readonly [text: string, depth: number]> = [[line.replaceAll("\\\n", ""), 0]]
  for (let next = todo.pop(); next !== undefined; next = todo.pop()) {
    const [text, depth] = next
    if (/[`]|\$\(/u.test(text)) computed = true
    let words: Array<string> = []
    let written: Array<string> = []
    let target = false
    const end = (): void => {
      if (words.length > 0 || written.length > 0) commands.push({ words, written })
      const first = words.findIndex((word) => !/^[A-Za-z_]\w*=/u.test(word))
      words.forEach((word, index) => {
        const before = words[index - 1] ?? ""
        const decides = index === first || changesDirectory(before) || runnerKind(programName(before), word) !== null
        if (
          decides && /\$\{?[A-Za-z_]/u.test(word) &&
          !/^\$\{?(?:HANZO_PROJECT_ROOT|PWD|HOME)\}?(?:\/[^$]*)?$/u.test(word)
        ) {
          computed = true
        }
      })
      words = []
      written = []
    }
    for (const [token] of text.matchAll(tokens)) {
      if (/^\d*&?>/u.test(token)) target = true
      else if (/^[;&|()`\n]$/u.test(token)) end()
      else if (token !== "<") {
        const word = unquoted(token)
        if (word === "eval") computed = true
        const plain = word.replace(/^(?:\$\{?\w+\}?|\$\(.*?\)|`.*?`)\//su, "")
        if (plain.includes("$") && plain.includes("/")) computed = true
        if (depth < 4 && word !== text && /[\s;&|<>()`]/u.test(word)) todo.push([word, depth + 1])
        ;(target ? written : words).push(word)
        target = false
      }
    }
    end()
  }
  return { commands, computed }
}

/** Longer words are texts, not names. */
const longest_name = 1024

/** How many ends of a glued option (`-ftools/x.mk`) are tried. */
const max_ends = 128

/**
 * The texts in a word that may name a file or a directory: the word, what is behind a `=`, the parts of a list, every end
 * of a glued option, and each without what is before its first slash where a variable or a substitution is.
 *
 * @since 0.1.0
 * @category combinators
 */
export const namesIn = (word: string): ReadonlyArray<string> => {
  if (word.length > longest_name) return []
  const found = new Set<string>()
  const add = (text: string): void => {
    // What is before the first slash may be any directory; all that are named are tried.
    const plain = text.replace(/^(?:\$\{?\w+\}?|\$\(.*?\)|`.*?`)\//su, "")
    for (const one of [plain, plain.replace(/^\/+/u, "")]) {
      if (one !== "" && !one.startsWith("-") && !one.includes("$") && !one.includes("\0")) found.add(one)
    }
  }
  const parts = (text: string): void => {
    add(text)
    if (/^[@+]./u.test(text)) add(text.slice(1))
    if (/[:,]/u.test(text)) { for (const part of text.split(/[:,]/u)) add(part) }
    if (text.includes("::")) add(text.replaceAll("::", "/"))
  }
  parts(word)
  if (word.includes("=")) parts(word.slice(word.indexOf("=") + 1))
  if (/^-[^-]./u.test(word)) {
    for (let at = 2; at < word.length && at < max_ends; at++) parts(word.slice(at))
  }
  return [...found]
}

/** The name of a program without its directory and version: `/usr/bin/python3.12` is `python`. @since 0.1.0 @category combinators */
export const programName = (word: string): string =>
  word.slice(word.lastIndexOf("/") + 1).replace(/\.(?:exe|cmd)$/iu, "").replace(/(?<=[a-z])-?\d+(?:\.\d+)*$/u, "")

/** Endings by which a program finds a file that is named without one. Those of JavaScript come first, in their order. @since 0.1.0 @category constants */
export const scriptEndings = [".js", ".json", ".node", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".tsx", ".jsx"] as const

/** @since 0.1.0 @category constants */
export const programEndings: ReadonlyArray<string> = [
  ...scriptEndings,
  ".py",
  ".pyc",
  ".so",
  ".rb",
  ".pl",
  ".pm",
  ".php",
  ".lua",
  ".sh",
  ".bash",
  ".zsh",
  ".fish",
  ".awk",
  ".sed",
  ".jq",
  ".tcl",
  ".r",
  ".R",
  ".jl",
  ".ex",
  ".exs",
  ".go",
  ".rs",
  ".java",
  ".class",
  ".jar",
  ".kts",
  ".kt",
  ".scala",
  ".groovy",
  ".gradle",
  ".mk",
  ".exe",
  ".bat",
  ".cmd",
  ".ps1",
  ".wasm"
]

/** A file that is run, by its name; `.json` is data but for the settings of a package. @since 0.1.0 @category combinators */
export const isProgramName = (name: string): boolean =>
  name === "package.json" || (!name.endsWith(".json") && programEndings.some((ending) => name.endsWith(ending)))

const scripting =
  /^(?:npx|pnpx|bunx|node|nodejs|bun|deno|tsx|ts-node|ts-node-esm|nodemon|electron|swc-node|esno|babel-node)$/u
const python = /^(?:python|pythonw|pypy|py|ipython|uv|uvx|poetry|pdm|hatch|rye|pipenv|coverage|kernprof)$/u
const other =
  /^(?:sh|bash|dash|zsh|ksh|ash|busybox|fish|perl|ruby|php|lua|luajit|tclsh|Rscript|julia|java|awk|gawk|mawk|nawk|sed|gsed|jq|source|\.|pwsh|osascript|groovy|elixir|expect)$/u

/**
 * How a program takes its operand. `script`: a file, also without its ending, or a directory's `index` file. `python`: a
 * file or a directory. `directory`: a directory whose files it runs or compiles. `file`: a file. Null = not known.
 *
 * @since 0.1.0
 * @category combinators
 */
export const runnerKind = (
  name: string,
  next: string | undefined
): "script" | "python" | "directory" | "file" | null =>
  scripting.test(name)
    ? "script"
    : python.test(name)
    ? "python"
    : name === "run-parts" || (name === "go" && next === "run") || (name === "dotnet" && next === "run")
    ? "directory"
    : other.test(name)
    ? "file"
    : null

/** Programs for which a directory is data, or a place to be in: nothing of it is run. @since 0.1.0 @category combinators */
export const takesData = (name: string): boolean =>
  /^(?:cd|pushd|popd|ls|find|fd|grep|egrep|fgrep|rg|ag|cat|head|tail|wc|sort|uniq|diff|cmp|test|\[|\[\[|mkdir|rmdir|rm|cp|mv|ln|touch|chmod|chown|du|df|stat|file|tar|zip|unzip|rsync|git|echo|printf|basename|dirname|realpath|readlink|tree|env|export|exec|time|timeout|nice|for|if|while|set|true|false|sh|bash|dash|zsh|sed|awk|jq|tee|xargs|make|gmake)$/u
    .test(name)

const script_packages = ["package.json"]
const compose = ["docker-compose", "compose"].flatMap((name) =>
  ["", ".override"].flatMap((more) => [`${name}${more}.yml`, `${name}${more}.yaml`])
)

/** Files that a program takes from its directory without being told. */
const taken: ReadonlyArray<readonly [RegExp, ReadonlyArray<string>]> = [
  [/^(?:g?make|remake)$/u, ["GNUmakefile", "makefile", "Makefile"]],
  [/^bmake$/u, ["BSDmakefile", "makefile", "Makefile"]],
  [/^just$/u, ["justfile", "Justfile", "JUSTFILE", ".justfile"]],
  [/^(?:task|go-task)$/u, [
    "Taskfile.yml",
    "taskfile.yml",
    "Taskfile.yaml",
    "taskfile.yaml",
    "Taskfile.dist.yml",
    "Taskfile.dist.yaml"
  ]],
  [/^(?:npm|npx|pnpm|pnpx|yarn|yarnpkg|corepack|node-run)$/u, [
    ...script_packages,
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    ".pnpmfile.cjs",
    "pnpm-workspace.yaml"
  ]],
  [/^(?:bun|bunx)$/u, [...script_packages, "bunfig.toml"]],
  [/^deno$/u, ["deno.json", "deno.jsonc", ...script_packages]],
  [/^(?:nodemon|grunt|gulp)$/u, ["nodemon.json", "Gruntfile.js", "gulpfile.js", "gulpfile.mjs"]],
  [/^(?:cargo|rustc|rustup)$/u, ["Cargo.toml", "build.rs", ".cargo", "rust-toolchain", "rust-toolchain.toml"]],
  [/^go$/u, ["go.mod", "go.work"]],
  [/^(?:docker|podman|docker-compose|podman-compose|nerdctl)$/u, [...compose, "Dockerfile", "Containerfile"]],
  [/^(?:gradle|gradlew)$/u, [
    "build.gradle",
    "build.gradle.kts",
    "settings.gradle",
    "settings.gradle.kts",
    "gradle.properties",
    "gradle/wrapper"
  ]],
  [/^(?:mvn|mvnw)$/u, ["pom.xml", ".mvn"]],
  [/^ant$/u, ["build.xml"]],
  [/^rake$/u, ["Rakefile", "rakefile", "Rakefile.rb", "rakefile.rb"]],
  [/^(?:bundle|bundler)$/u, ["Gemfile", ".bundle"]],
  [/^(?:composer|composer\.phar)$/u, ["composer.json"]],
  [/^(?:invoke|inv|fab)$/u, ["tasks.py", "fabfile.py", "invoke.yaml"]],
  [/^(?:tox|nox|uv|uvx|poetry|pdm|hatch|rye|pipenv)$/u, [
    "pyproject.toml",
    "uv.toml",
    "poetry.toml",
    "tox.ini",
    "noxfile.py",
    "Pipfile"
  ]],
  [/^(?:mise|asdf|direnv)$/u, ["mise.toml", ".mise.toml", ".tool-versions", ".envrc"]],
  [/^(?:pre-commit|lefthook)$/u, [".pre-commit-config.yaml", "lefthook.yml", "lefthook.yaml"]],
  [/^mix$/u, ["mix.exs"]],
  [/^(?:ninja|scons|meson|cmake|bazel|bazelisk)$/u, [
    "build.ninja",
    "SConstruct",
    "meson.build",
    "CMakeLists.txt",
    "WORKSPACE",
    "MODULE.bazel",
    ".bazelrc"
  ]],
  [/^(?:nix|nix-shell|nix-build)$/u, ["flake.nix", "shell.nix", "default.nix"]]
]

/** Relative to the directory it runs in. @since 0.1.0 @category combinators */
export const takenFiles = (name: string): ReadonlyArray<string> =>
  taken.flatMap(([pattern, files]) => pattern.test(name) ? files : [])

/** Settings of a tool that may be empty without an effect. @since 0.1.0 @category combinators */
export const mayBeEmpty = (name: string): boolean => /^(?:\.npmrc|\.yarnrc|\.yarnrc\.yml|bunfig\.toml)$/u.test(name)

/** Does it run programs of `node_modules/.bin`? @since 0.1.0 @category combinators */
export const runsInstalled = (name: string, rest: ReadonlyArray<string>): boolean => {
  if (/^(?:npx|pnpx|bunx)$/u.test(name)) return true
  const first = rest.find((word) => !word.startsWith("-")) ?? ""
  if (name === "npm") return /^(?:exec|x)$/u.test(first)
  if (name === "bun") return first === "x"
  return /^(?:pnpm|yarn)$/u.test(name) &&
    !/^(?:|install|i|add|remove|run|test|t|start|build|publish|pack|update|up)$/u.test(first)
}

/** The Python module that words name by `-m`, glued or not, from `at`; null = none. @since 0.1.0 @category combinators */
export const moduleAt = (words: ReadonlyArray<string>, at: number): string | null => {
  const word = words[at] ?? ""
  const [, glued] = /^-[A-Za-z]*?m([A-Za-z_][\w.]*)?$/u.exec(word) ?? [word, null]
  const name = glued === null ? null : glued ?? words[at + 1] ?? null
  return name !== null && /^[A-Za-z_]\w*(?:\.\w+)*$/u.test(name) ? name : null
}

/** Words whose next word is a directory to be in. @since 0.1.0 @category combinators */
export const changesDirectory = (word: string): boolean =>
  /^(?:cd|pushd|-C|--directory|--chdir|--prefix|--cwd|--dir|--working-directory|--project|--manifest-path)$/u.test(word)
