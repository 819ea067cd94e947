/** Real bash runs command lines of marker programs and says what it ran. */
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import type { View } from "../../src/permissions/CommandView.ts"
import type { ShellLine } from "../../src/permissions/Shell.ts"

/** Programs that only write down how they were called. */
export const markers = ["ma", "mb", "mc", "md"] as const

const script = `#!/bin/sh
s="\${0##*/}"
for a; do s="$s $a"; done
printf '%s\\036' "$s" >> "$MARKER_LOG"
`

/** What each line ran, as the words of each program joined by a space. No program but the markers can be found. */
export const runInBash = (lines: ReadonlyArray<string>): ReadonlyArray<ReadonlyArray<string>> => {
  const root = fs.mkdtempSync(path.join(os.tmpdir(), "bash-"))
  try {
    const bin = path.join(root, "bin")
    fs.mkdirSync(bin)
    for (const name of markers) fs.writeFileSync(path.join(bin, name), script, { mode: 0o755 })
    lines.forEach((line, i) => {
      fs.mkdirSync(path.join(root, `w${i}`))
      fs.writeFileSync(path.join(root, `${i}.sh`), line)
    })
    const driver = `
      for ((i = 0; i < ${lines.length}; i++)); do
        IFS= read -r -d '' line < "$ROOT/$i.sh"
        cd "$ROOT/w$i"
        MARKER_LOG="$ROOT/$i.log" PATH="$ROOT/bin" /usr/bin/timeout 5 /bin/bash -c "$line" </dev/null >/dev/null 2>&1
      done
      exit 0`
    execFileSync("/bin/bash", ["-c", driver], { env: { ROOT: root, PATH: "/usr/bin:/bin", x: "1" }, stdio: "ignore" })
    return lines.map((_, i) => {
      const log = path.join(root, `${i}.log`)
      return fs.existsSync(log) ? fs.readFileSync(log, "utf8").split("\x1e").slice(0, -1) : []
    })
  } finally {
    fs.rmSync(root, { recursive: true, force: true })
  }
}

/** A command whose words are not all known may have come to this; an expansion to nothing takes its blank along. */
const mayBe = (view: View, text: string): boolean =>
  view.known === null ? view.text === text : text.startsWith(view.known.trimEnd())

/** What ran without having been seen in the line. A line that counts as one that cannot be read hides nothing. */
export const unseen = (line: ShellLine, ran: ReadonlyArray<string>): ReadonlyArray<string> =>
  line.problem !== null ?
    [] :
    ran.filter((text) =>
      !line.commands.some((command) =>
        command.opaque || [command, ...command.same].some((view) => mayBe(view, text)) ||
        (command.floor !== null && command.maybe.some((view) => mayBe(view, text)))
      )
    )
