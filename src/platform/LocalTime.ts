/**
 * Days as the people of this machine count them: in the zone of the process (`TZ`, else the system's).
 *
 * A day is not always 24 hours long, and may begin at one o'clock: both ends are asked for, never computed.
 *
 * @since 0.1.0
 */

const two = (value: number): string => String(value).padStart(2, "0")

const textOf = (date: Date): string =>
  `${String(date.getFullYear()).padStart(4, "0")}-${two(date.getMonth() + 1)}-${two(date.getDate())}`

const shape = /^(\d{4})-(\d{2})-(\d{2})$/

/** The first moment of a day; months count from 0 and may overflow, as days may. */
const beginning = (year: number, month: number, day: number): Date => {
  const date = new Date(2000, 0, 1)
  date.setFullYear(year, month, day)
  // Where midnight does not exist the first moment after the gap; where it comes twice the first of the two.
  date.setHours(0, 0, 0, 0)
  return date
}

/** The day (`YYYY-MM-DD`) of a moment in milliseconds since the epoch. @since 0.1.0 @category combinators */
export const dayOf = (ms: number): string => textOf(new Date(ms))

/** The time of day (`HH:MM`) of a moment. @since 0.1.0 @category combinators */
export const timeOf = (ms: number): string => {
  const date = new Date(ms)
  return `${two(date.getHours())}:${two(date.getMinutes())}`
}

/**
 * The first moment of a day `YYYY-MM-DD`, or of the one `days` after it, in milliseconds; null = there is no such day.
 *
 * @since 0.1.0
 * @category combinators
 */
export const startOfDay = (day: string, days = 0): number | null => {
  const found = shape.exec(day)
  if (found === null) return null
  const [year, month, date] = [Number(found[1]), Number(found[2]), Number(found[3])]
  if (textOf(beginning(year, month - 1, date)) !== day) return null
  return beginning(year, month - 1, date + days).getTime()
}

/** The first moment of the day that a moment is in. @since 0.1.0 @category combinators */
export const startOfDayOf = (ms: number): number => {
  const date = new Date(ms)
  return beginning(date.getFullYear(), date.getMonth(), date.getDate()).getTime()
}

/** The name of the zone, for example `Europe/Berlin`. @since 0.1.0 @category combinators */
export const zone = (): string => new Intl.DateTimeFormat().resolvedOptions().timeZone
