/**
 * From what `allowed-tools` names to patterns of permission rules; pure.
 *
 * @since 0.1.0
 */

/** Names that other agents have for the same tools. */
const names: Readonly<Record<string, ReadonlyArray<string>>> = {
  bash: ["bash"],
  read: ["read"],
  write: ["write"],
  edit: ["edit", "apply_patch"],
  multiedit: ["edit", "apply_patch"],
  glob: ["glob"],
  ls: ["glob"],
  grep: ["grep"],
  webfetch: ["fetch"],
  todowrite: ["todo"],
  task: ["task"],
  skill: ["skill"]
}

/**
 * Patterns for one name: `bash(git *)` as it stands, and what other agents write, `Bash(git add:*)`, `Read`. A name with a
 * pattern in front of its parenthesis allows nothing: it would allow more than anybody reads out of it.
 *
 * @since 0.1.0
 * @category decoding
 */
export const patternsOf = (written: string): ReadonlyArray<string> => {
  const open = written.indexOf("(")
  const name = open < 0 ? written : written.slice(0, open)
  const subject = open < 0 ? null : written.endsWith(")") ? written.slice(open + 1, -1).trim() : undefined
  if (subject === undefined || !/^[A-Za-z][A-Za-z0-9_-]*$/.test(name)) return []
  const known = Object.hasOwn(names, name.toLowerCase()) ? names[name.toLowerCase()] ?? [] : [name]
  return known.flatMap((tool) => {
    if (subject === null || subject === "" || subject === "*") return [tool]
    if (!subject.endsWith(":*")) return [`${tool}(${subject})`]
    const start = subject.slice(0, -2)
    return [`${tool}(${start})`, `${tool}(${start} *)`]
  })
}
