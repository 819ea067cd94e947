/**
 * What a person has allowed for a session, and the narrow rules that keep it for good (reading 7.7). Pure.
 *
 * @since 0.1.0
 */
import type { PermissionRule } from "../domain/Permission.ts"
import type { PermissionRequest } from "./Permissions.ts"
import { isOwnPlace } from "./Protected.ts"
import { exactPattern, type Part, type PolicyVerdict } from "./Policy.ts"

/**
 * A subject of a tool again (`null` = the tool takes none), or every file below a directory: then only of those that the
 * same rule, or none, asks about.
 */
type Grant =
  | { readonly tool_name: string; readonly subject: string | null }
  | { readonly tool_name: string; readonly below: string; readonly ruled: string }

type Asked = Pick<PermissionRequest, "tool_name" | "other_names" | "subjects" | "kind" | "inside_workspace">

/** Which rule asks about a subject; the same text for the same rule. @since 0.1.0 @category models */
export type RuledBy = (subject: string) => string

/** The directory of a file that is asked about; null = it is granted by itself. */
const directoryOf = (request: Asked, subject: string): string | null => {
  const cut = subject.lastIndexOf("/")
  return (request.kind === "read" || request.kind === "edit") && request.inside_workspace && cut > 0 &&
      !isOwnPlace(subject)
    ? subject.slice(0, cut + 1)
    : null
}

const partGrant = (part: Part): { readonly tool_name: string; readonly subject: string } => ({
  tool_name: part.kind === "write" ? "write" : "bash",
  subject: part.text
})

const asksAbout = (verdict: PolicyVerdict): ReadonlyArray<Part> =>
  (verdict.parts ?? []).filter((part) => part.mode === "prompt")

const grantable = (verdict: PolicyVerdict): ReadonlyArray<Part> =>
  asksAbout(verdict).filter((part) => part.grantable && !part.unsure)

/** What "for this session" grants: of a command line the line, and each command of it that was asked about. */
const grantsOf = (request: Asked, verdict: PolicyVerdict, ruled: RuledBy): ReadonlyArray<Grant> => {
  const { subjects, tool_name } = request
  return [
    ...(subjects.length === 0
      ? [{ tool_name, subject: null }]
      : subjects.map((subject): Grant => {
        const below = directoryOf(request, subject)
        return below === null ? { tool_name, subject } : { tool_name, below, ruled: ruled(subject) }
      })),
    ...grantable(verdict).map(partGrant)
  ]
}

/** The same in words, for the question. @since 0.1.0 @category encoding */
export const coverage = (request: Asked, verdict: PolicyVerdict): string => {
  const { subjects, tool_name } = request
  if (subjects.length === 0) return `every call of ${tool_name}`
  if (verdict.parts !== undefined) {
    const parts = grantable(verdict)
    return parts.length === 0 ? "exactly this line" : "exactly this line, and the commands in it that are asked about"
  }
  const places = [...new Set(subjects.map((subject) => directoryOf(request, subject) ?? subject))]
  return `${tool_name} of ${
    places.map((place) => place.endsWith("/") ? `the files below ${place}` : place).join(", ")
  }; not what another rule asks about`
}

/**
 * The rules that "always" writes: each exactly what was asked about. Null when no rule can say it: a line that cannot be
 * read, or a command that is not known before it runs.
 *
 * @since 0.1.0
 * @category combinators
 */
export const rulesOf = (request: Asked, verdict: PolicyVerdict): ReadonlyArray<PermissionRule> | null => {
  const allow = (tool_name: string, subject: string | null): PermissionRule => ({
    tool_pattern: exactPattern(tool_name, subject),
    mode: "allow"
  })
  if (verdict.parts !== undefined) {
    const asked = asksAbout(verdict)
    return asked.length === 0 || asked.some((part) => !part.grantable || part.unsure)
      ? null
      : asked.map(partGrant).map(({ subject, tool_name }) => allow(tool_name, subject))
  }
  if (verdict.unsure === true) return null
  return [request.tool_name, ...(request.other_names ?? [])].flatMap((name) =>
    request.subjects.length === 0
      ? [allow(name, null)]
      : request.subjects.map((subject) => allow(name, subject))
  )
}

/** Grants by session. @since 0.1.0 @category models */
export class SessionGrants {
  private readonly sessions = new Map<string, Set<string>>()

  private key(grant: Grant): string {
    return JSON.stringify(
      "below" in grant ? [grant.tool_name, grant.below, grant.ruled] : [grant.tool_name, grant.subject]
    )
  }

  add(session_id: string, request: Asked, verdict: PolicyVerdict, ruled: RuledBy): void {
    const grants = this.sessions.get(session_id) ?? new Set()
    for (const grant of grantsOf(request, verdict, ruled)) grants.add(this.key(grant))
    this.sessions.set(session_id, grants)
  }

  has(session_id: string, request: Asked, verdict: PolicyVerdict, ruled: RuledBy): boolean {
    const grants = this.sessions.get(session_id)
    if (grants === undefined) return false
    const given = (grant: Grant): boolean => grants.has(this.key(grant))
    const { subjects, tool_name } = request
    if (subjects.length === 0) return given({ tool_name, subject: null })
    const covered = (subject: string): boolean => {
      if (given({ tool_name, subject })) return true
      if (directoryOf(request, subject) === null) return false
      const by = ruled(subject)
      for (let cut = subject.lastIndexOf("/"); cut > 0; cut = subject.lastIndexOf("/", cut - 1)) {
        if (given({ tool_name, below: subject.slice(0, cut + 1), ruled: by })) return true
      }
      return false
    }
    if (subjects.every(covered)) return true
    const asked = asksAbout(verdict)
    return asked.length > 0 && verdict.unsure !== true &&
      asked.every((part) => part.grantable && !part.unsure && given(partGrant(part)))
  }
}
