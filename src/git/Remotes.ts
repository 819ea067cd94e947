/**
 * From the address of a remote to the pages of its website. Pure; no user name or password of an address comes out of here.
 *
 * @since 0.1.0
 */
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"

/** @since 0.1.0 @category models */
export interface Website {
  readonly kind: "github" | "gitlab" | "bitbucket" | "other"
  /** `github.com` */
  readonly host: string
  /** `https://host/owner/name` */
  readonly base: string
}

const aliases: Readonly<Record<string, string>> = {
  "ssh.github.com": "github.com",
  "altssh.gitlab.com": "gitlab.com",
  "altssh.bitbucket.org": "bitbucket.org"
}

const kindOf = (host: string): Website["kind"] =>
  /(?:^|[.-])github(?:[.-]|$)/u.test(host)
    ? "github"
    : /(?:^|[.-])gitlab(?:[.-]|$)/u.test(host)
    ? "gitlab"
    : host === "bitbucket.org"
    ? "bitbucket"
    : "other"

const made = (host: string, port: string, path: string, scheme: "https" | "http"): Website | null => {
  const name = aliases[host] ?? host
  const parts = path.replace(/\/+$/u, "").replace(/\.git$/u, "").split("/").filter((part) => part !== "")
  if (parts.length < 2 || !/^[a-z0-9.-]+$/u.test(name) || !name.includes(".")) return null
  const clean = parts.map((part) => {
    try {
      return encodeURIComponent(decodeURIComponent(part))
    } catch {
      return encodeURIComponent(part)
    }
  })
  return { kind: kindOf(name), host: name, base: `${scheme}://${name}${port}/${clean.join("/")}` }
}

/** Null = a path of this machine, or nothing that has a website. @since 0.1.0 @category decoding */
export const websiteOf = (address: string): Website | null => {
  const given = address.trim()
  const url = /^(https?|ssh|git|git\+ssh|ssh\+git):\/\/(?:[^/?#]*@)?([^/?#:@[\]]+)(:\d+)?\/([^?#]+)/iu.exec(given)
  if (url !== null) {
    const [, scheme = "", host = "", port = "", path = ""] = url
    const web = /^https?$/iu.test(scheme)
    return made(host.toLowerCase(), web ? port : "", path, scheme.toLowerCase() === "http" ? "http" : "https")
  }
  if (given.includes("://")) return null
  // user@host:path; a path of Windows has one letter before the colon
  const scp = /^(?:[^/@\s:]+@)?([A-Za-z0-9][A-Za-z0-9.-]+):(?!\/\/)([^\s].*)$/u.exec(given)
  return scp === null ? null : made((scp[1] ?? "").toLowerCase(), "", scp[2] ?? "", "https")
}

const inPath = (branch: string): string => branch.split("/").map(encodeURIComponent).join("/")

/** Where a person opens a pull request of the branch; null = not known for this host. @since 0.1.0 @category encoding */
export const compareAddress = (address: string, branch: string, base: string | null): string | null => {
  const site = websiteOf(address)
  switch (site?.kind) {
    case "github":
      return `${site.base}/compare/${base === null ? "" : `${inPath(base)}...`}${inPath(branch)}?expand=1`
    case "gitlab":
      return `${site.base}/-/merge_requests/new?merge_request%5Bsource_branch%5D=${encodeURIComponent(branch)}${
        base === null ? "" : `&merge_request%5Btarget_branch%5D=${encodeURIComponent(base)}`
      }`
    case "bitbucket":
      return `${site.base}/pull-requests/new?source=${encodeURIComponent(branch)}${
        base === null ? "" : `&dest=${encodeURIComponent(base)}`
      }`
    default:
      return null
  }
}

/** The address of a pull request in what a program said; null = there is none. @since 0.1.0 @category decoding */
export const pullRequestIn = (text: string): string | null =>
  /https?:\/\/[^\s/@]+\/[^\s]+?\/pull\/\d+/u.exec(text)?.[0] ?? null

const Listed = Schema.parseJson(Schema.Array(Schema.Struct({
  url: Schema.String,
  headRepositoryOwner: Schema.optional(Schema.NullOr(Schema.Struct({ login: Schema.String })))
})))

/** Whose the repository is, by the address of its website; null = not known. */
const ownerOf = (address: string): string | null => {
  const site = websiteOf(address)
  const [owner = ""] = site === null ? [] : site.base.slice(site.base.indexOf(site.host)).split("/").slice(1)
  return owner === "" ? null : owner.toLowerCase()
}

/**
 * The pull request in what `gh pr list --json url,headRepositoryOwner` says whose branch is in the repository of this
 * address: somebody else's fork may have a branch of the same name. Null = there is none.
 *
 * @since 0.1.0
 * @category decoding
 */
export const ownPullRequest = (text: string, address: string): string | null => {
  const listed = Schema.decodeUnknownOption(Listed)(text)
  if (Option.isNone(listed)) return null
  const owner = ownerOf(address)
  const own = listed.value.find(({ headRepositoryOwner: head }) =>
    owner === null || head === undefined || head?.login.toLowerCase() === owner
  )
  return own === undefined ? null : pullRequestIn(own.url)
}

/** Addresses without user and password. @since 0.1.0 @category encoding */
export const withoutUser = (text: string): string => text.replaceAll(/([a-z][a-z0-9+.-]*:\/\/)[^/?#\s'"]*@/giu, "$1")
