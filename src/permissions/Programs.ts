/**
 * What is known of programs that run other programs (reading 7.6): wrappers that are looked through, commands that no
 * broad rule may allow, and the text that a shell is given to run. Pure.
 *
 * @since 0.1.0
 */
import { sedIsQuiet } from "./SedScript.ts"
import type { ShellWord } from "./ShellWords.ts"

const set = (names: string): ReadonlySet<string> => new Set(names.split(" "))

/** @since 0.1.0 @category constants */
export const shells = set("sh bash dash zsh ksh mksh ash fish csh tcsh rbash")
/** Shells that read text by other rules than bash. */
const otherShells = set("zsh fish csh tcsh")
const alwaysAsk = set(
  "eval source . exec trap alias fc xargs ssh sudo su doas runuser pkexec builtin coproc enable chroot setsid unshare nsenter " +
    "bwrap watch parallel ionice chrt taskset strace ltrace gdb script busybox toybox systemd-run start-stop-daemon " +
    "dbus-run-session xvfb-run flatpak-spawn osascript flock setpriv prlimit setarch linux32 linux64 fakeroot chronic ifne at batch unbuffer expect ssh-agent firejail " +
    "proot numactl cpulimit cgexec catchsegv valgrind perf tini dumb-init newgrp sg crontab tmux screen socat entr hyperfine " +
    "concurrently nodemon watchexec"
)
/** Their words after the first may be a command. @since 0.1.0 @category constants */
export const runners = set(
  "xargs ssh sudo su doas runuser pkexec exec builtin coproc chroot setsid unshare nsenter bwrap watch parallel ionice chrt " +
    "taskset strace ltrace gdb script busybox toybox systemd-run start-stop-daemon dbus-run-session xvfb-run flatpak-spawn env " +
    "time nohup nice stdbuf timeout command flock setpriv prlimit setarch linux32 linux64 fakeroot chronic ifne at batch unbuffer expect ssh-agent firejail " +
    "proot numactl cpulimit cgexec catchsegv valgrind perf tini dumb-init"
)
/** They take no command among their words, so that a word that is a program's name means nothing. @since 0.1.0 @category constants */
export const harmless = set(
  "echo printf cat ls grep egrep fgrep rg head tail wc type which whereis man cd pwd test [ true false : touch mkdir stat file " +
    "basename dirname realpath readlink cmp diff cut tr uniq pgrep pkill killall"
)
/** The same of the first words of git. @since 0.1.0 @category constants */
export const harmlessGit = set(
  "log show diff status grep add commit branch tag checkout switch restore blame rev-parse ls-files mv rm stash describe shortlog"
)
/** The program that loads programs. */
const loader = /^ld(?:-(?:linux|musl)[\w.-]*|\.so[\w.]*)$/
/** They run what their input says. */
const readers = set("parallel at batch crontab")
/** Files that are what a program reads anyway. */
const ownInput = /^(?:-|\/dev\/stdin|\/dev\/fd\/\d+|\/proc\/(?:self|thread-self|\d+)\/fd\/\d+)$/
/** Interpreter to its options that take program text. */
const inline: ReadonlyArray<readonly [RegExp, RegExp]> = [
  [/^(?:python|pypy|ipython)[\d.]*$/, /^-[A-Za-z]*c/],
  [/^perl[\d.]*$/, /^-[A-Za-z0-9]*[eEMmdI]/],
  [/^ruby[\d.]*$/, /^-[A-Za-z]*e/],
  [/^(?:node|nodejs)$/, /^(?:-[a-z]*[ep]|--eval|--print|--import|--require|-r|--loader|--experimental-loader)(?:=|$)/],
  [/^bun$/, /^(?:-e|-p|--eval|--print|--preload|-r)(?:=|$)/],
  [/^php[\d.]*$/, /^(?:-[rBRE]|--run)/],
  [/^lua(?:jit)?[\d.]*$/, /^-e/],
  [/^(?:Rscript|R|julia|elixir|erl|ghc|scala|groovy|tclsh|jshell)$/, /^(?:-e|-E|--eval|-eval|-p)/],
  [/^(?:pwsh|powershell)$/, /^-(?:c|command|e|enc|encodedcommand)/i]
]
/** @since 0.1.0 @category constants */
export const interpreters =
  /^(?:(?:python|pypy|ipython|perl|ruby|php|lua)[\d.]*|node|nodejs|luajit|Rscript|julia|elixir|tclsh|pwsh)$/

/** Options by which an ordinary program runs another one. @since 0.1.0 @category constants */
export const dangerous: Readonly<Record<string, RegExp>> = {
  find: /^-(?:exec|execdir|ok|okdir|delete|fprint|fprint0|fprintf|fls)$/,
  fd: /^(?:-[a-zA-Z]*[xX]|--exec|--exec-batch)(?:=|$)/,
  fdfind: /^(?:-[a-zA-Z]*[xX]|--exec|--exec-batch)(?:=|$)/,
  rg: /^--(?:pre|hostname-bin)(?:=|$)/,
  git: /^(?:-c|--tool)(?:=|$)|^-c.|^ext::|^--(?:conf|exe|upl|rece|ext-|extc|op)|^-[^-SGmFCBMsbL=\s]*[xO]/,
  tar:
    /^(?:--to-command|--checkpoint-action|--use-compress-program|--rsh-command|--info-script|--new-volume-script)(?:=|$)|^--(?:to|checkpoint-|us|rs|inf|new)|^-[A-Za-z]*[IF]/,
  rsync: /^(?:-[a-zA-Z]*e|--rsh|--rsync-path)(?:=|$)|^-e.|^--rs/,
  scp: /^-[a-zA-Z]*[oSD]/,
  sftp: /^-[a-zA-Z]*[oSD]/,
  sort: /^--co/,
  split: /^--f/,
  zip: /^(?:-TT|--unzip-command)/,
  man: /^(?:-P|--pager|-H)/,
  less: /^\+|^-[a-zA-Z]*k/,
  vim: /^(?:\+|-c|--cmd|-S|-s|-u)/,
  vi: /^(?:\+|-c|--cmd|-S|-s|-u)/,
  nvim: /^(?:\+|-c|--cmd|-S|-s|-u|-l)/,
  ex: /^(?:\+|-c|-S|-s)/,
  emacs: /^(?:--eval|--execute|-e|-f|--funcall|-l|--load|--script|--batch)/,
  ed: /./,
  mapfile: /^-[a-z]*C/,
  readarray: /^-[a-z]*C/,
  hash: /^-[a-z]*p/,
  bind: /^-[a-z]*x/,
  complete: /^-[a-z]*[CFW]/,
  compgen: /^-[a-z]*[CFW]/,
  jobs: /^-[a-z]*x/,
  history: /^-[a-z]*[anprsw]/,
  npx: /^(?:-c|--call)/,
  wget: /^-e|^--(?:use-a|exec|conf)/,
  make: /^--ev|^-E|^SHELL[:+?]?=|^(?:-f|--(?:make)?file=)?(?:-|\/dev\/(?:stdin|fd\/\d+)|\/proc\/\w+\/fd\/\d+)$/,
  nc: /^-[a-z]*[ec]/,
  ncat: /^-[a-z]*[ec]|^--(?:exec|sh-exec|lua-exec)/,
  netcat: /^-[a-z]*[ec]/,
  gcc: /^(?:-wrapper|-fplugin|-B)/,
  go: /^-(?:exec|toolexec)(?:=|$)/,
  cargo: /^--config(?:=|$)/,
  npm: /^--(?:script-shell|node-options|call)(?:=|$)|^-c$/,
  docker: /^--entrypoint/,
  sqlite3: /^\.(?:shell|system)|^-cmd$/,
  dpkg: /^--(?:pre-invoke|post-invoke)/,
  apt: /^-o/,
  "apt-get": /^-o/,
  tcpdump: /^-[a-z]*z/,
  awk: /system|\||getline|>|@|^-[a-z]*[fiEl]|^--(?:file|exec|include|load)/,
  // Its script is read by itself.
  sed: /(?!)/
}
/** @since 0.1.0 @category constants */
export const sameAs: Readonly<Record<string, string>> = {
  gawk: "awk",
  mawk: "awk",
  nawk: "awk",
  gsed: "sed",
  bsdtar: "tar",
  gtar: "tar",
  gmake: "make"
}

/** Longer arguments of programs with such options are not looked into: they count as one. @since 0.1.0 @category constants */
export const maxScript = 4096

/** @since 0.1.0 @category constants */
export const assignmentLike = /^[A-Za-z_]\w*(?:\[[^\]]*\])?\+?=/

/** The name without its directory. @since 0.1.0 @category combinators */
export const baseName = (program: string): string => program.slice(program.lastIndexOf("/") + 1)

/** Where the inner command of a transparent wrapper begins; null = it is not looked through. @since 0.1.0 @category combinators */
export const inside = (program: string, words: ReadonlyArray<ShellWord>): number | null => {
  const texts = words.map((word) => word.known === null ? word.text : null)
  /** Options without a value, options whose value may follow, and how many words stand before the command. */
  const skip = (flag: RegExp, valued: RegExp, joined: RegExp, operands = 0): number | null => {
    let at = 1
    while (at < texts.length) {
      const text = texts[at]
      if (text === null || text === undefined) return null
      if (text === "--") {
        at++
        break
      }
      if (!text.startsWith("-") || (text === "-" && !flag.test(text))) break
      if (flag.test(text) || joined.test(text)) at++
      else if (valued.test(text)) {
        if (typeof texts[at + 1] !== "string") return null
        at += 2
      } else return null
    }
    for (let i = 0; i < operands; i++) {
      if (typeof texts[at] !== "string") return null
      at++
    }
    return at < texts.length ? at : null
  }
  const never = /(?!)/
  switch (program) {
    case "time":
      return skip(/^-p$/, never, never)
    case "nohup":
      return skip(never, never, never)
    case "nice":
      return skip(/^-\d+$/, /^(?:-n|--adjustment)$/, /^(?:-n-?\d+|--adjustment=-?\d+)$/)
    case "stdbuf":
      return skip(
        never,
        /^(?:-[ioe]|--(?:input|output|error))$/,
        /^(?:-[ioe][0-9L][A-Za-z0-9]*|--(?:input|output|error)=\w+)$/
      )
    case "timeout":
      return skip(
        /^(?:--preserve-status|--foreground|-v|--verbose)$/,
        /^(?:-[ks]|--kill-after|--signal)$/,
        /^(?:-[ks][\w.]+|--(?:kill-after|signal)=[\w.]+)$/,
        1
      )
    case "command":
      return skip(/^-p$/, never, never)
    case "env":
      return skip(/^(?:-|-i|--ignore-environment|-v|--debug)$/, /^(?:-u|--unset)$/, /^(?:-u\w+|--unset=\w+)$/)
    default:
      return null
  }
}

/** Programs that may give way to the command they run. @since 0.1.0 @category constants */
export const wrappers = set("time nohup nice stdbuf timeout command env")

/** The file that a shell reads its commands from, among the words after its name; -1 = its input. */
const scriptOf = (rest: ReadonlyArray<ShellWord>): number => {
  for (let at = 0; at < rest.length; at++) {
    const text = rest[at]?.text ?? ""
    if (text === "--") return at + 1 < rest.length ? at + 1 : -1
    if (/^[-+][A-Za-z]*[oO]$|^--(?:rcfile|init-file)$/.test(text)) at++
    else if (!/^[-+]./.test(text)) return at
  }
  return -1
}

/** Options of ssh with a value of their own. */
const sshValued = /^-[A-Za-z]*[BbcDEeFIiJLlmOopQRSWw]$/

/** Without a command it starts a shell that reads its input. @since 0.1.0 @category combinators */
export const startsShell = (program: string, rest: ReadonlyArray<ShellWord>): boolean => {
  const texts = rest.map((word) => word.text)
  const operands = texts.filter((text) => !text.startsWith("-"))
  switch (program) {
    case "su":
    case "runuser":
    case "script":
    case "newgrp":
    case "sg":
      return !texts.some((text) => /^-[a-z]*c|^--(?:command|session-command)/.test(text)) && operands.length < 2
    case "sudo":
    case "doas":
      return texts.some((text) => /^-[A-Za-z]*[si]$|^--(?:shell|login)$/.test(text))
    case "chroot":
      return operands.length < 2
    case "ssh":
      return texts.filter((text, at) => !text.startsWith("-") && !sshValued.test(texts[at - 1] ?? "")).length < 2
    case "unshare":
    case "nsenter":
    case "fakeroot":
    case "firejail":
    case "setarch":
    case "linux32":
    case "linux64":
      return operands.length < (program === "setarch" ? 2 : 1)
    default:
      return false
  }
}

/** A shell runs its input, or what another command writes. */
const readsInput = (rest: ReadonlyArray<ShellWord>): boolean => {
  const script = scriptOf(rest)
  const flags = script < 0 ? rest : rest.slice(0, script)
  const text = rest[script]?.text
  return text === undefined || flags.some((word) => /^-[A-Za-z]*s/.test(word.text)) || ownInput.test(text) ||
    text.startsWith("<(")
}

const simpleText = /^[\w@%+=:,./^ -]*$/

/** The text behind `-c` of a shell; null = it is given none, `unknown` = its options are not all known. */
const givenText = (rest: ReadonlyArray<ShellWord>): ShellWord | "unknown" | null => {
  const clusters = rest.some((word) => /^-[A-Za-z]*c/.test(word.text))
  let command = false
  for (let at = 0; at < rest.length; at++) {
    const word = rest[at]
    if (word === undefined) break
    const { known, text } = word
    if (text === "--" || text === "-") return command ? rest[at + 1] ?? null : null
    if (known !== null && !command && (known === "" || /^[-+]/.test(known))) return clusters ? "unknown" : null
    if (!/^[-+]./.test(text)) return command ? word : null
    if (text.startsWith("--")) {
      if (/^--(?:norc|noprofile|posix|login|verbose|restricted)$/.test(text)) continue
      return clusters ? "unknown" : null
    }
    if (known !== null || !/^[-+][abcefhiklmnprstuvxBCEHPTDoO]+$/.test(text)) return clusters ? "unknown" : null
    if (text.startsWith("-") && text.includes("c")) command = true
    at += text.replaceAll(/[^oO]/g, "").length
  }
  return command ? "unknown" : null
}

/** Lines of shell text among the words; opaque = there is one that is not known. @since 0.1.0 @category combinators */
export const shellText = (
  program: string,
  words: ReadonlyArray<ShellWord>
): { readonly lines: ReadonlyArray<string>; readonly opaque: boolean } => {
  const textOf = (chosen: ReadonlyArray<ShellWord>): { lines: ReadonlyArray<string>; opaque: boolean } =>
    chosen.length === 0 || chosen.some((word) => word.known !== null)
      ? { lines: [], opaque: chosen.length > 0 }
      : { lines: [chosen.map((word) => word.text).join(" ")], opaque: false }
  const rest = words.slice(1)
  const operands = (words: ReadonlyArray<ShellWord>) => words[0]?.text === "--" ? words.slice(1) : words
  if (program === "eval") return textOf(operands(rest))
  if (program === "trap") {
    const options = rest.findIndex((word) => word.text === "--" || !/^-[lp]+$/.test(word.text))
    return textOf(options < 0 ? [] : operands(rest.slice(options)).slice(0, 1))
  }
  if (program === "alias") {
    const values = rest.map((word) => word.text.slice(word.text.indexOf("=") + 1))
    return { lines: values, opaque: rest.some((word) => word.known !== null) }
  }
  if (shells.has(program)) {
    const given = givenText(rest)
    if (given !== null) {
      if (given === "unknown") return { lines: [], opaque: true }
      const read = textOf([given])
      return otherShells.has(program) && !simpleText.test(given.text) ? { lines: [], opaque: true } : read
    }
    // Without a script it reads commands from its input.
    return { lines: [], opaque: readsInput(rest) && !rest.some((word) => /^--(?:version|help)$/.test(word.text)) }
  }
  if (program === "source" || program === ".") {
    const [file] = rest.filter((word) => word.text !== "--")
    return { lines: [], opaque: file !== undefined && (ownInput.test(file.text) || file.text.startsWith("<(")) }
  }
  if (readers.has(program)) return { lines: [], opaque: true }
  if (program === "xargs") return { lines: [], opaque: xargsRunsAnything(words) }
  if (program === "env") {
    const split = rest.flatMap((word, index) => {
      const joined = /^(?:-[A-Za-z]*S|--split-string=)([\s\S]+)$/.exec(word.text)
      const next = rest[index + 1]
      return joined?.[1] !== undefined && joined[1] !== ""
        ? [{ ...word, text: [joined[1], ...rest.slice(index + 1).map((other) => other.text)].join(" ") }]
        : /^(?:-[A-Za-z]*S|--split-string)$/.test(word.text) && next !== undefined
        ? [{ ...next, text: rest.slice(index + 1).map((other) => other.text).join(" ") }]
        : []
    })
    // Its own rules for quotes and escapes are not those of a shell.
    return split.some((word) => !simpleText.test(word.text)) ? { lines: [], opaque: true } : textOf(split.slice(0, 1))
  }
  return { lines: [], opaque: false }
}

/** Settings of git that neither run anything nor name a file. */
const quietGitSetting =
  /^(?:user|author|committer|color|column|advice|status|tag|branch|push|pull|fetch|merge|rebase|log|blame|init)\.(?:[\w-]+)$|^core\.(?:autocrlf|eol|filemode|quotepath|ignorecase|abbrev)$|^commit\.gpgsign$/i

const gitRuns = (texts: ReadonlyArray<string>): boolean => {
  const has = (...names: ReadonlyArray<string>): boolean => names.some((name) => texts.includes(name))
  if (has("filter-branch", "difftool", "mergetool", "for-each-repo", "instaweb")) return true
  if ((has("bisect") && has("run")) || (has("submodule") && has("foreach")) || (has("hook") && has("run"))) return true
  if (has("clone") && texts.some((text) => text.startsWith("-u"))) return true
  const config = texts.indexOf("config")
  if (config < 0 || texts.slice(0, config).some((text) => !text.startsWith("-") && text === "commit")) return false
  const operands = texts.slice(config + 1).filter((text) => !text.startsWith("-") && text !== "set" && text !== "get")
  return operands.length > 1 && !quietGitSetting.test(operands[0] ?? "")
}

/** What xargs appends or puts in place may be a command of its own. */
const xargsRunsAnything = (words: ReadonlyArray<ShellWord>): boolean => {
  let replaced: string | null = null
  let at = 1
  for (; at < words.length; at++) {
    const text = words[at]?.text ?? ""
    if (!/^-./.test(text)) break
    if (text === "--") {
      at++
      break
    }
    const place = /^(?:-[A-Za-z]*[IiJ]|--replace=?)([\s\S]*)$/.exec(text)
    const valued =
      /^(?:-[0-9A-Za-z]*[aIJEdLnPsRS]|--(?:arg-file|delimiter|max-args|max-procs|max-chars|process-slot-var))$/.test(
        text
      )
    if (place !== null) replaced = place[1] === "" ? (valued ? words[at + 1]?.text ?? "" : "{}") : place[1] ?? "{}"
    if (valued) at++
  }
  const command = words[at]
  if (command === undefined) return false
  const name = baseName(command.text)
  if (command.known !== null || shells.has(name) || interpreters.test(name) || takesCommands(name)) return true
  const rest = words.slice(at + 1)
  const quiet = name === "git" && harmlessGit.has(rest[0]?.text ?? "")
  const options = quiet ? undefined : dangerous[sameAs[name] ?? name]
  return replaced === null
    // What is appended may be options by which the program runs another.
    ? options !== undefined && !rest.some(({ text }) => text === "--")
    : command.text.includes(replaced) || (options !== undefined && rest.some(({ text }) => text.includes(replaced)))
}

/** It takes a command among its words, or text that is one. @since 0.1.0 @category combinators */
export const takesCommands = (program: string): boolean =>
  alwaysAsk.has(program) || runners.has(program) || wrappers.has(program) || loader.test(program)

/** An interpreter that takes program text as an option. @since 0.1.0 @category combinators */
export const isInline = (program: string): boolean =>
  program === "deno" || inline.some(([names]) => names.test(program))

/** Why no broad rule allows the command; null = any may. @since 0.1.0 @category combinators */
export const floorOf = (program: string, words: ReadonlyArray<ShellWord>): string | null => {
  const rest = words.slice(1)
  if (alwaysAsk.has(program) || loader.test(program)) return `${program} runs other commands`
  if (shells.has(program)) {
    const script = scriptOf(rest)
    const flags = script < 0 ? rest : rest.slice(0, script)
    if (flags.some((word) => /^-[A-Za-z]*c/.test(word.text))) return `${program} runs the text it is given`
    if (flags.some((word) => /^--(?:version|help)$/.test(word.text))) return null
    return readsInput(rest)
      ? `${program} runs what it reads`
      : flags.some((word) => /^--(?:rcfile|init-file)/.test(word.text))
      ? `${program} runs other commands`
      : null
  }
  for (const [names, options] of inline) {
    if (names.test(program) && rest.some((word) => options.test(word.text))) {
      return `${program} runs the text it is given`
    }
  }
  if (program === "deno" && rest[0]?.text === "eval") return "deno runs the text it is given"
  if (interpreters.test(program)) {
    const named = rest.some((word) => !word.text.startsWith("-") && !ownInput.test(word.text))
    const informs = rest.some((word) => /^(?:-[vVh]|--?version|--?help)$/.test(word.text))
    // node looks for the tests of the directory, or runs a script of the package, and leaves its input alone
    const finds = /^node(?:js)?$/.test(program) && rest.some((word) => /^--(?:test$|run=)/.test(word.text))
    if (!named && !informs && !finds) return `${program} runs what it reads`
  }
  if (program === "env") {
    return rest.some((word) => word.text.includes("="))
      ? "env sets variables for what it runs"
      : rest.length > 0
      ? "env runs other commands"
      : null
  }
  if (wrappers.has(program)) {
    return rest.length === 0 || (program === "command" && /^-p?[vV]/.test(rest[0]?.text ?? "")) ||
        (rest.length === 1 && /^--(?:version|help)$/.test(rest[0]?.text ?? ""))
      ? null
      : `${program} runs other commands, with options that are not known here`
  }
  const known = sameAs[program] ?? program
  const [first] = rest.map((word) => word.text)
  if (
    (known === "tar" && /^[A-Za-z]*[IF]/.test(first ?? "")) ||
    (known === "sed" && !sedIsQuiet(rest)) ||
    (known === "git" && gitRuns(rest.map((word) => word.text)))
  ) return `${program} may run other commands with these arguments`
  const options = dangerous[known]
  const found = options === undefined
    ? undefined
    : rest.find((word) => word.text.length > maxScript || options.test(word.text.replaceAll(/[ \t]+/g, " ")))
  if (found !== undefined) return `${program} may run other commands with these arguments`
  const assigns = /^(?:export|declare|typeset|local|readonly)$/.test(program)
  if (assigns && rest.some((word) => word.text.includes("=") || word.known !== null)) return `${program} sets variables`
  return null
}
