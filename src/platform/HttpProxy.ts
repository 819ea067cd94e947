/**
 * Which proxy a request takes, from the usual variables: `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY`, the
 * lower-case spelling first. Pure.
 *
 * `NO_PROXY` is a list of host suffixes (with or without a leading dot), addresses and IPv4 ranges (`10.0.0.0/8`), each
 * optionally with a port; `*` = no proxy at all. Loopback never takes a proxy.
 *
 * @since 0.1.0
 */

/** @since 0.1.0 @category models */
export interface ProxySettings {
  readonly http: string | null
  readonly https: string | null
  readonly no_proxy: ReadonlyArray<string>
}

/** Empty variables count as unset. @since 0.1.0 @category constructors */
export const fromVariables = (vars: ReadonlyMap<string, string>): ProxySettings => {
  const read = (name: string): string | null => vars.get(name) || vars.get(name.toUpperCase()) || null
  const all = read("all_proxy")
  return {
    http: read("http_proxy") ?? all,
    https: read("https_proxy") ?? all,
    no_proxy: (read("no_proxy") ?? "").split(/[\s,]+/).filter((entry) => entry !== "").map((e) => e.toLowerCase())
  }
}

const ipv4 = (text: string): number | null => {
  const parts = text.split(".")
  if (parts.length !== 4) return null
  let value = 0
  for (const part of parts) {
    if (!/^\d{1,3}$/.test(part) || Number(part) > 255) return null
    value = value * 256 + Number(part)
  }
  return value
}

const inRange = (range: string, host: string): boolean => {
  const slash = range.indexOf("/")
  const base = ipv4(range.slice(0, slash))
  const address = ipv4(host)
  const bits = Number(range.slice(slash + 1))
  if (base === null || address === null || !(bits >= 0 && bits <= 32)) return false
  const size = 2 ** (32 - bits)
  return Math.floor(base / size) === Math.floor(address / size)
}

/** Host name of a URL without the brackets of an IPv6 address. @since 0.1.0 @category combinators */
export const hostOf = (url: URL): string => url.hostname.startsWith("[") ? url.hostname.slice(1, -1) : url.hostname

/** @since 0.1.0 @category combinators */
export const portOf = (url: URL): string => url.port !== "" ? url.port : url.protocol === "https:" ? "443" : "80"

const isLoopbackHost = (host: string): boolean =>
  host === "localhost" || host.endsWith(".localhost") || host === "::1" || /^127\.\d+\.\d+\.\d+$/.test(host)

const matches = (entry: string, host: string, port: string): boolean => {
  if (entry === "*") return true
  if (entry.includes("/")) return inRange(entry, host)
  const withPort = /^(\[[^\]]*\]|[^:]*):(\d+)$/.exec(entry)
  if (withPort !== null && withPort[2] !== port) return false
  const name = (withPort?.[1] ?? entry).replace(/^\[(.*)\]$/, "$1").replace(/^\*?\./, "")
  return host === name || host.endsWith(`.${name}`)
}

/**
 * The proxy's address, `null` for a direct connection, or what is wrong with the variable. A proxy is written
 * `http://host:port`, `https://host:port` or `host:port`, with user and password before an `@` if it wants them.
 *
 * @since 0.1.0
 * @category combinators
 */
export const proxyFor = (settings: ProxySettings, url: URL): URL | null | { readonly problem: string } => {
  const secure = url.protocol === "https:"
  const value = secure ? settings.https : settings.http
  if (value === null) return null
  const host = hostOf(url)
  if (isLoopbackHost(host) || settings.no_proxy.some((entry) => matches(entry, host, portOf(url)))) return null
  const full = value.includes("://") ? value : `http://${value}`
  const proxy = URL.canParse(full) ? new URL(full) : null
  return proxy !== null && (proxy.protocol === "http:" || proxy.protocol === "https:")
    ? proxy
    : { problem: `${secure ? "HTTPS_PROXY" : "HTTP_PROXY"} is no http or https address` }
}

const unescaped = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Value of `proxy-authorization`, `null` when the proxy's address has no user. @since 0.1.0 @category combinators */
export const proxyAuthorization = (proxy: URL): string | null =>
  proxy.username === "" && proxy.password === ""
    ? null
    : `Basic ${Buffer.from(`${unescaped(proxy.username)}:${unescaped(proxy.password)}`).toString("base64")}`
