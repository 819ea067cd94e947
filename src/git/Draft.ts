/**
 * A message without a model: true, short, of the right form, for a person to make better. Pure.
 *
 * @since 0.1.0
 */
import { cut, longestSubject } from "./Conventional.ts"
import type { ChangedFile } from "./Porcelain.ts"

const verb = (files: ReadonlyArray<ChangedFile>): string => {
  const kinds = new Set(files.map((file) => file.staged))
  if (kinds.size !== 1) return "update"
  switch (files[0]?.staged) {
    case "A":
      return "add"
    case "D":
      return "remove"
    case "R":
      return "rename"
    default:
      return "update"
  }
}

const isDoc = (path: string): boolean => /\.(?:md|mdx|rst|adoc|txt)$/iu.test(path)
const isTest = (path: string): boolean => /(?:^|\/)(?:tests?|__tests__|spec)\/|[._-](?:test|spec)\.[^/]+$/iu.test(path)

const typeOf = (files: ReadonlyArray<ChangedFile>): string => {
  if (files.length > 0 && files.every(({ path }) => isDoc(path))) return "docs"
  return files.length > 0 && files.every(({ path }) => isTest(path)) ? "test" : "chore"
}

/** Of what is staged. @since 0.1.0 @category constructors */
export const neutral = (files: ReadonlyArray<ChangedFile>): string => {
  const [only] = files
  const name = (path: string): string => path.replaceAll(/[\u0000-\u0020\u007f]+/gu, " ").trim()
  const what = files.length === 1 && only !== undefined
    ? name(only.path.length > 40 ? only.path.split("/").at(-1) ?? only.path : only.path)
    : `${files.length} files`
  return cut(`${typeOf(files)}: ${verb(files)} ${what === "" ? "a file" : what}`, longestSubject)
}
