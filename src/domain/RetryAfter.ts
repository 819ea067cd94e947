/**
 * How long the headers of an answer ask to wait (reading 16.4; RFC 9110 sections 10.2.3 and 5.6.7).
 *
 * @since 0.1.0
 */

const months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]

/** Days from 1970-01-01 to a date of the proleptic Gregorian calendar; years are counted from March. */
const daysSinceEpoch = (year: number, month: number, day: number): number => {
  const y = month <= 2 ? year - 1 : year
  const dayOfYear = Math.floor((153 * ((month + 9) % 12) + 2) / 5) + day - 1
  return 365 * y + Math.floor(y / 4) - Math.floor(y / 100) + Math.floor(y / 400) + dayOfYear - 719_468
}

const daysInMonth = (year: number, month: number): number =>
  daysSinceEpoch(month === 12 ? year + 1 : year, month === 12 ? 1 : month + 1, 1) - daysSinceEpoch(year, month, 1)

const imfFixdate = /^[a-z]{3}, (?<day>\d{2}) (?<month>[a-z]{3}) (?<year>\d{4}) (?<time>\d{2}:\d{2}:\d{2}) gmt$/
const rfc850 = /^[a-z]{6,9}, (?<day>\d{2})-(?<month>[a-z]{3})-(?<year>\d{2}) (?<time>\d{2}:\d{2}:\d{2}) gmt$/
const asctime = /^[a-z]{3} (?<month>[a-z]{3}) (?<day>[ \d]\d) (?<time>\d{2}:\d{2}:\d{2}) (?<year>\d{4})$/

/**
 * Milliseconds since the epoch of an HTTP date in one of its three forms, else null. A two-digit year is the nearest
 * one that lies no more than 50 years after `now`.
 *
 * @since 0.1.0
 * @category decoding
 */
export const httpDate = (text: string, now: number): number | null => {
  const lower = text.toLowerCase()
  const parts = (imfFixdate.exec(lower) ?? rfc850.exec(lower) ?? asctime.exec(lower))?.groups
  if (parts === undefined) return null
  const [hour = 0, minute = 0, second = 0] = (parts["time"] ?? "").split(":").map(Number)
  const month = months.indexOf(parts["month"] ?? "") + 1
  const day = Number(parts["day"])
  if (month === 0 || hour > 23 || minute > 59 || second > 60) return null
  const at = (year: number): number =>
    (((daysSinceEpoch(year, month, day) * 24 + hour) * 60 + minute) * 60 + second) * 1000
  let year = Number(parts["year"])
  if (parts["year"]?.length === 2) {
    const fifty = 50 * 365.2425 * 86_400_000
    year += 1900
    while (at(year + 100) <= now + fifty) year += 100
  }
  return day >= 1 && day <= daysInMonth(year, month) ? at(year) : null
}

const atMost = (ms: number): number => Math.min(Math.ceil(ms), Number.MAX_SAFE_INTEGER)

/**
 * Milliseconds to wait at least, or null when the headers do not say (or say it in no known form). `retry-after-ms`
 * comes first, being the finer one; then `retry-after` in seconds or as an HTTP date, of which one in the past is 0.
 * Header names are lower-case; `now` is milliseconds since the epoch.
 *
 * @example
 * retryAfter({ "retry-after": "2" }, now) // 2000
 *
 * @since 0.1.0
 * @category decoding
 */
export const retryAfter = (headers: Readonly<Record<string, string>>, now: number): number | null => {
  const fine = headers["retry-after-ms"]?.trim()
  if (fine !== undefined && /^\d+(\.\d+)?$/.test(fine)) return atMost(Number(fine))
  const value = headers["retry-after"]?.trim()
  if (value === undefined) return null
  if (/^\d+(\.\d+)?$/.test(value)) return atMost(Number(value) * 1000)
  const date = httpDate(value, now)
  return date === null ? null : Math.max(0, date - now)
}
