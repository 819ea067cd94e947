/**
 * What a person has allowed for a session, and the narrow rules that keep it for good (reading 7.7). Pure.
 *
 * @since 0.1.0
 */
import type { PermissionRule } from "../domain/Permission.ts"
import type { PermissionRequest } from "./Permissions.ts"
import { exactPattern, type Part, type PolicyVerdict } from "./Policy.ts"

/** The same subject of a tool again; null = every call of it (of a file tool: inside the workspace). */
interface Grant {
  readonly tool_name: string
  readonly subject: string | null
}

type Asked = Pick<PermissionRequest, "tool_name" | "other_names" | "subjects" | "kind" | "inside_workspace">

const wholeTool = (request: Asked): boolean =>
  request.subjects.length === 0 || ((request.kind === "read" || request.kind === "edit") && request.inside_workspace)

const partGrant = (part: Part): Grant => ({
  tool_name: part.kind === "write" ? "write" : "bash",
  subject: part.text
})

const asksAbout = (verdict: PolicyVerdict): ReadonlyArray<Part> =>
  (verdict.parts ?? []).filter((part) => part.mode === "prompt")

/** What "for this session" grants: of a command line the line, and each command of it that was asked about. */
const grantsOf = (request: Asked, verdict: PolicyVerdict): ReadonlyArray<Grant> => [
  ...(wholeTool(request)
    ? [{ tool_name: request.tool_name, subject: null }]
    : request.subjects.map((subject) => ({ tool_name: request.tool_name, subject }))),
  ...asksAbout(verdict).filter((part) => part.grantable && !part.unsure).map(partGrant)
]

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
      : asked.map(partGrant).map((grant) => allow(grant.tool_name, grant.subject))
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

  private key({ subject, tool_name }: Grant): string {
    return subject === null ? tool_name : `${tool_name}\0${subject}`
  }

  add(session_id: string, request: Asked, verdict: PolicyVerdict): void {
    const grants = this.sessions.get(session_id) ?? new Set()
    for (const grant of grantsOf(request, verdict)) grants.add(this.key(grant))
    this.sessions.set(session_id, grants)
  }

  has(session_id: string, request: Asked, verdict: PolicyVerdict): boolean {
    const grants = this.sessions.get(session_id)
    if (grants === undefined) return false
    const given = (grant: Grant): boolean => grants.has(this.key(grant))
    const { subjects, tool_name } = request
    if (wholeTool(request) && given({ tool_name, subject: null })) return true
    if (subjects.length > 0 && subjects.every((subject) => given({ tool_name, subject }))) return true
    const asked = asksAbout(verdict)
    return asked.length > 0 && verdict.unsure !== true &&
      asked.every((part) => part.grantable && !part.unsure && given(partGrant(part)))
  }
}
