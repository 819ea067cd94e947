/**
 * Which Internet addresses belong to everybody (IANA special-purpose registries, RFC 6890 and its updates). What is not
 * clearly public is not.
 *
 * @since 0.1.0
 */

const parse4 = (text: string): number | undefined => {
  const parts = text.split(".")
  if (parts.length !== 4) return undefined
  let value = 0
  for (const part of parts) {
    if (!/^(?:0|[1-9]\d{0,2})$/u.test(part)) return undefined
    const byte = Number(part)
    if (byte > 255) return undefined
    value = value * 256 + byte
  }
  return value
}

/** Eight 16-bit groups; a zone (`%eth0`) is ignored. */
const parse6 = (text: string): ReadonlyArray<number> | undefined => {
  let plain = text.replace(/%.*$/su, "")
  const last = plain.lastIndexOf(":")
  if (plain.includes(".")) {
    const v4 = parse4(plain.slice(last + 1))
    if (v4 === undefined) return undefined
    plain = `${plain.slice(0, last + 1)}${Math.floor(v4 / 65_536).toString(16)}:${(v4 % 65_536).toString(16)}`
  }
  const halves = plain.split("::")
  if (halves.length > 2) return undefined
  const groups = (half: string | undefined): ReadonlyArray<string> =>
    half === undefined || half === "" ? [] : half.split(":")
  const [before, after] = [groups(halves[0]), groups(halves[1])]
  const missing = 8 - before.length - after.length
  if (halves.length === 2 ? missing < 1 : missing !== 0) return undefined
  const all = [...before, ...Array.from({ length: missing }, () => "0"), ...after]
  return all.every((group) => /^[0-9a-f]{1,4}$/iu.test(group))
    ? all.map((group) => Number.parseInt(group, 16))
    : undefined
}

/** First address and prefix length. */
const blocks4: ReadonlyArray<readonly [string, number]> = [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 3],
  // A cloud's metadata service on an otherwise public address.
  ["168.63.129.16", 32]
]

const public4 = (value: number): boolean =>
  blocks4.every(([first, bits]) => {
    const size = 2 ** (32 - bits)
    return Math.floor(value / size) !== Math.floor((parse4(first) ?? 0) / size)
  })

const public6 = (g: ReadonlyArray<number>): boolean => {
  const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, high = 0, low = 0] = g
  const embedded = (upper: number, lower: number): boolean => public4(upper * 65_536 + lower)
  const zero = (...groups: ReadonlyArray<number>): boolean => groups.every((group) => group === 0)
  // IPv4-mapped, and the well-known prefix of NAT64: the IPv4 address inside decides.
  if (zero(a, b, c, d, e) && f === 0xffff) return embedded(high, low)
  if (a === 0x64 && b === 0xff9b && zero(c, d, e, f)) return embedded(high, low)
  // Global unicast is 2000::/3; within it 2001::/23 (protocols, Teredo), documentation, and 6to4 with its IPv4 inside.
  if (a >> 13 !== 1) return false
  if (a === 0x2001 && (b < 0x200 || b === 0xdb8)) return false
  if (a === 0x3fff && b < 0x1000) return false
  if (a === 0x2002) return embedded(b, c)
  return true
}

/**
 * Is this an address on the public Internet? Not: loopback, private, shared, link-local, metadata services, multicast,
 * documentation, reserved, IPv4 of these kinds inside IPv6, and text that is no address.
 *
 * @since 0.1.0
 * @category combinators
 */
export const isPublicAddress = (address: string): boolean => {
  const v4 = parse4(address)
  if (v4 !== undefined) return public4(v4)
  const v6 = parse6(address)
  return v6 !== undefined && public6(v6)
}

/** Is the text an address, not a name? Brackets around IPv6 are allowed, as URLs have them. @since 0.1.0 @category combinators */
export const isAddress = (host: string): boolean => {
  const bare = host.replace(/^\[(.*)\]$/su, "$1")
  return parse4(bare) !== undefined || parse6(bare) !== undefined
}
