/**
 * What goes wrong with files.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { TaggedError } from "../domain/TaggedError.ts"

/**
 * | reason | meaning |
 * | --- | --- |
 * | `not_found` | the file, or a directory on the way, does not exist |
 * | `exists` | it had to be new and is there |
 * | `not_a_directory` | a part of the way is a file |
 * | `is_a_directory` | a file was expected |
 * | `not_regular` | a device, pipe or socket |
 * | `permission` | the file's mode or owner forbids it |
 * | `read_only` | the file system is mounted read-only |
 * | `no_space` | disk full, quota or size limit reached |
 * | `too_large` | more bytes than the caller allows |
 * | `too_many_links` | symbolic links go round in a circle |
 * | `moved` | the path leads elsewhere than when it was checked |
 * | `changed` | the content is not the one the caller knows |
 * | `invalid_path` | NUL, empty, not absolute, too long |
 * | `io` | anything else; `code` has the system's word |
 */
const FileErrorReason = Schema.Literal(
  "not_found",
  "exists",
  "not_a_directory",
  "is_a_directory",
  "not_regular",
  "permission",
  "read_only",
  "no_space",
  "too_large",
  "too_many_links",
  "moved",
  "changed",
  "invalid_path",
  "io"
)
type FileErrorReason = typeof FileErrorReason.Type

const words: Readonly<Record<FileErrorReason, string>> = {
  not_found: "no such file or directory",
  exists: "it exists already",
  not_a_directory: "a part of the path is a file, not a directory",
  is_a_directory: "it is a directory",
  not_regular: "it is not a regular file (device, pipe or socket)",
  permission: "permission denied; check its owner and mode",
  read_only: "the file system is read-only",
  no_space: "no space left (disk full, quota or size limit); nothing was changed",
  too_large: "the file is too large",
  too_many_links: "its symbolic links go round in a circle",
  moved: "the path leads elsewhere than when it was checked; nothing was touched",
  changed: "it has changed on disk meanwhile; nothing was overwritten",
  invalid_path: "not a usable path",
  io: "input/output error"
}

const reasonOf: Readonly<Record<string, FileErrorReason>> = {
  ENOENT: "not_found",
  EEXIST: "exists",
  ENOTEMPTY: "exists",
  ENOTDIR: "not_a_directory",
  EISDIR: "is_a_directory",
  ENXIO: "not_regular",
  EACCES: "permission",
  EPERM: "permission",
  EROFS: "read_only",
  ENOSPC: "no_space",
  EDQUOT: "no_space",
  EFBIG: "no_space",
  ELOOP: "too_many_links",
  ENAMETOOLONG: "invalid_path",
  EINVAL: "io",
  ERR_INVALID_ARG_VALUE: "invalid_path"
}

/** `operation` is a verb: "read", "write", "list", ... @since 0.1.0 @category errors */
export class FileError extends TaggedError("@hanzo/dev/platform/FileError")("FileError", () => ({
  reason: FileErrorReason,
  operation: Schema.String,
  path: Schema.String,
  /** The system's error code, for example `EACCES`. */
  code: Schema.optional(Schema.String),
  detail: Schema.optional(Schema.String)
})) {
  /** What is wrong, without the file: for messages that name it already. */
  get why(): string {
    return `${this.detail ?? words[this.reason]}${this.code === undefined ? "" : ` (${this.code})`}`
  }

  override get message(): string {
    return `cannot ${this.operation} ${this.path}: ${this.why}`
  }
}

/** A FileError from whatever a file system call threw. @since 0.1.0 @category constructors */
export const fromCause = (operation: string, path: string, cause: unknown): FileError => {
  const code = typeof cause === "object" && cause !== null && "code" in cause ? cause.code : undefined
  return typeof code === "string"
    ? new FileError({ reason: reasonOf[code] ?? "io", operation, path, code })
    : new FileError({ reason: "io", operation, path, detail: cause instanceof Error ? cause.message : String(cause) })
}

/**
 * A FileError from an error of the platform's FileSystem, whose own message names its functions.
 *
 * @since 0.1.0
 * @category constructors
 */
export const fromPlatform = (
  operation: string,
  path: string,
  error: { readonly message: string; readonly cause?: unknown }
): FileError => fromCause(operation, path, error.cause ?? new Error(error.message))

/** Of something that is there and is no file. @since 0.1.0 @category constructors */
export const notAFile = (operation: string, path: string, type: string): FileError =>
  new FileError({ reason: type === "Directory" ? "is_a_directory" : "not_regular", operation, path })
