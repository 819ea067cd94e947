/**
 * One word of a POSIX shell line: as it stands where the shell reads it so, else in single quotes.
 *
 * @since 0.1.0
 */

/** @since 0.1.0 @category encoding */
export const shellWord = (word: string): string =>
  /^[A-Za-z0-9_./:@%+,=-]+$/u.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
