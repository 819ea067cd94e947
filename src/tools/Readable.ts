/**
 * A fetched body as text for a model: pages become Markdown, text stays what it is, the rest is refused.
 *
 * @since 0.1.0
 */
import type { Readability as ReadabilityClass } from "@mozilla/readability"
import * as Effect from "effect/Effect"
import type { parseHTML as ParseHTML } from "linkedom"
import type TurndownService from "turndown"

/** @since 0.1.0 @category models */
export type BodyKind = "html" | "text" | "binary"

/** `text/html; charset=x` taken apart; names in lower case. @since 0.1.0 @category decoding */
export const mediaType = (header: string | undefined): { readonly type: string; readonly charset: string | null } => {
  const [type = "", ...parameters] = (header ?? "").split(";")
  const charset = parameters.map((p) => /^\s*charset\s*=\s*"?([^"\s]+)"?\s*$/iu.exec(p)?.[1]).find((c) =>
    c !== undefined
  )
  return { type: type.trim().toLowerCase(), charset: charset?.toLowerCase() ?? null }
}

const textual =
  /^(?:text\/|message\/|application\/(?:.*\+)?(?:json|xml|yaml|toml|javascript|ecmascript|typescript|x-sh|x-yaml|x-toml|x-javascript|x-ndjson|ndjson|jsonl|json5|sql|graphql|x-www-form-urlencoded|rtf)$|image\/svg\+xml$)/u

const looksBinary = (bytes: Uint8Array): boolean => {
  const start = bytes.subarray(0, 8192)
  if (start.includes(0)) return true
  let strange = 0
  for (const byte of start) if (byte < 9 || (byte > 13 && byte < 32 && byte !== 27)) strange++
  return strange > start.length / 20
}

/** Says the header, or where it says nothing (`application/octet-stream`), the bytes. @since 0.1.0 @category decoding */
export const bodyKind = (type: string, bytes: Uint8Array): BodyKind => {
  if (type === "text/html" || type === "application/xhtml+xml") return "html"
  if (textual.test(type)) return "text"
  if (type !== "" && type !== "application/octet-stream") return "binary"
  if (looksBinary(bytes)) return "binary"
  const start = new TextDecoder().decode(bytes.subarray(0, 512)).trimStart().toLowerCase()
  return start.startsWith("<!doctype html") || start.startsWith("<html") ? "html" : "text"
}

/** The header's character set, else the page's own `<meta>`, else UTF-8; an unknown one is UTF-8. @since 0.1.0 @category decoding */
export const decodeBody = (bytes: Uint8Array, charset: string | null, kind: BodyKind): string => {
  const meta = kind === "html" && charset === null
    ? /<meta[^>]+charset\s*=\s*["']?([\w-]+)/iu.exec(new TextDecoder("latin1").decode(bytes.subarray(0, 2048)))?.[1]
    : undefined
  const label = charset ?? meta ?? "utf-8"
  try {
    return new TextDecoder(label).decode(bytes)
  } catch {
    return new TextDecoder().decode(bytes)
  }
}

/** Beyond these only the text of a page is taken: the converters are not linear, and deep pages exhaust the stack. */
const maxElements = 30_000
const maxDepth = 200
const maxUnits = 2_000_000

const breaks = new Set(
  "address article aside blockquote br dd div dl dt fieldset footer form h1 h2 h3 h4 h5 h6 header hr li main nav ol p pre section table td th tr ul"
    .split(" ")
)
const skipped = new Set(["script", "style", "noscript", "template", "svg", "head"])
const entities: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: "\"", apos: "'", nbsp: " " }

const decodeEntities = (text: string): string =>
  text.replaceAll(/&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z]{2,4}));/giu, (whole, decimal, hex, name) => {
    if (typeof name === "string") return entities[name.toLowerCase()] ?? whole
    const code = typeof decimal === "string" ? Number(decimal) : Number.parseInt(String(hex), 16)
    return code > 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff) ? String.fromCodePoint(code) : "\ufffd"
  })

/**
 * The text of a page without its tags, in one pass: what is left when a page is too large or too deep to convert.
 *
 * @since 0.1.0
 * @category decoding
 */
export const plainText = (html: string): string => {
  const lower = html.toLowerCase()
  const parts: Array<string> = []
  let at = 0
  while (at < html.length) {
    const open = html.indexOf("<", at)
    if (open === -1) {
      parts.push(html.slice(at))
      break
    }
    parts.push(html.slice(at, open))
    if (html.startsWith("<!--", open)) {
      const end = html.indexOf("-->", open + 4)
      at = end === -1 ? html.length : end + 3
      continue
    }
    const name = /^\/?[a-z][a-z0-9]*/u.exec(lower.slice(open + 1, open + 20))?.[0] ?? ""
    if (name === "" && !/[!?/]/u.test(html.charAt(open + 1))) {
      parts.push("<")
      at = open + 1
      continue
    }
    const close = html.indexOf(">", open)
    if (close === -1) break
    at = close + 1
    if (skipped.has(name)) {
      const end = lower.indexOf(`</${name}`, at)
      const after = end === -1 ? -1 : html.indexOf(">", end)
      at = after === -1 ? html.length : after + 1
    } else if (breaks.has(name.replace("/", ""))) parts.push("\n")
  }
  return decodeEntities(parts.join("")).replaceAll(/[^\S\n]+/gu, " ").replaceAll(/ ?\n[ \n]*/gu, "\n").trim()
}

const noise = "script, style, noscript, template, iframe, object, embed, canvas, svg, link, meta"

interface Libraries {
  readonly parseHTML: typeof ParseHTML
  readonly Readability: typeof ReadabilityClass
  readonly Turndown: typeof TurndownService
}

interface Tree {
  readonly children: ArrayLike<Tree>
}

/** Counts elements and depth without recursion. */
const tooMuch = (root: Tree): boolean => {
  let level: ReadonlyArray<Tree> = [root]
  let count = 0
  for (let depth = 0; level.length > 0; depth++) {
    count += level.length
    if (depth > maxDepth || count > maxElements) return true
    level = level.flatMap((element) => Array.from(element.children))
  }
  return false
}

/** Tables as GitHub's Markdown writes them. */
const addTables = (turndown: TurndownService): void => {
  const cell = (content: string): string => ` ${content.trim().replaceAll(/\s*\n\s*/gu, " ").replaceAll("|", "\\|")} |`
  turndown.addRule("cell", { filter: ["th", "td"], replacement: cell })
  turndown.addRule("row", {
    filter: "tr",
    replacement: (content, node) => {
      const first = node.previousSibling === null &&
        (node.parentNode?.nodeName !== "TBODY" || node.parentNode.previousSibling === null)
      const cells = Array.from(node.childNodes as ArrayLike<{ readonly nodeName: string }>).filter((child) =>
        child.nodeName === "TH" || child.nodeName === "TD"
      )
      return `\n|${content}${first ? `\n|${" --- |".repeat(cells.length)}` : ""}`
    }
  })
  turndown.addRule("section", { filter: ["thead", "tbody", "tfoot"], replacement: (content) => content })
  turndown.addRule("table", { filter: "table", replacement: (content) => `\n\n${content.trim()}\n\n` })
}

const convert = (
  { Readability, Turndown, parseHTML }: Libraries,
  html: string,
  url: string
): string | null => {
  const source = /<html[\s>]/iu.test(html) ? html : `<!doctype html><html><body>${html}</body></html>`
  const { document } = parseHTML(source)
  for (const element of document.querySelectorAll(noise)) element.remove()
  const base = document.querySelector("base[href]")?.getAttribute("href") ?? ""
  const root = URL.canParse(base, url) ? new URL(base, url).href : url
  for (const link of document.querySelectorAll("a[href]")) {
    const href = link.getAttribute("href") ?? ""
    if (/^\s*(?:javascript|data|vbscript):/iu.test(href) || !URL.canParse(href, root)) link.removeAttribute("href")
    else link.setAttribute("href", new URL(href, root).href)
  }
  for (const image of document.querySelectorAll("img")) {
    const src = image.getAttribute("src") ?? ""
    if (/^\s*data:/iu.test(src) || !URL.canParse(src, root)) image.remove()
    else image.setAttribute("src", new URL(src, root).href)
  }
  const title = (document.querySelector("title")?.textContent ?? "").replaceAll(/\s+/gu, " ").trim()
  const body = document.body
  const whole = body?.textContent?.replaceAll(/\s+/gu, " ").length ?? 0
  if (tooMuch(document.documentElement)) return null
  const full = body?.innerHTML ?? ""
  const article = new Readability(document as unknown as ConstructorParameters<typeof Readability>[0], {
    charThreshold: 200,
    keepClasses: true
  }).parse()
  // What the article finder leaves out of a reference page is often the reference: then the page counts.
  const enough = article !== null && typeof article.content === "string" && (article.length ?? 0) * 3 >= whole
  const chosen = enough && article !== null ? article.content ?? full : full
  const turndown = new Turndown({ headingStyle: "atx", codeBlockStyle: "fenced", bulletListMarker: "-" })
  addTables(turndown)
  // It takes a node as well as text; its own parser would be a second one.
  const markdown = turndown.turndown(parseHTML(`<!doctype html><html><body>${chosen}</body></html>`).document.body)
    .replaceAll(/\n{3,}/gu, "\n\n").trim()
  const headed = markdown.startsWith("# ") || title === ""
  return headed ? markdown : `# ${title}\n\n${markdown}`
}

/**
 * Markdown of a page: its article when one is found that holds a good part of the text, else the whole body; links and
 * images absolute, scripts and inline data gone. A page that is too large, too deep or too odd for the converters comes as
 * its plain text. The libraries are loaded here, on first use.
 *
 * @since 0.1.0
 * @category decoding
 */
export const toMarkdown = (html: string, url: string): Effect.Effect<string> =>
  html.length > maxUnits ? Effect.sync(() => plainText(html)) : Effect.tryPromise(async () => {
    const [{ parseHTML }, readability, turndown] = await Promise.all([
      import("linkedom"),
      import("@mozilla/readability"),
      import("turndown")
    ])
    return convert({ parseHTML, Readability: readability.Readability, Turndown: turndown.default }, html, url)
  }).pipe(
    Effect.orElseSucceed(() => null),
    Effect.map((markdown) => markdown ?? plainText(html))
  )
