/**
 * The file system of Node, made when something is asked of it that `DirectFiles` does not answer itself: most starts never
 * need it.
 *
 * @since 0.1.0
 */
import * as FileSystem from "@effect/platform/FileSystem"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"

/** One for the process: it holds nothing. */
let made: FileSystem.FileSystem | undefined

const node: Effect.Effect<FileSystem.FileSystem> = Effect.suspend(() =>
  made === undefined
    ? Effect.map(Effect.scoped(Layer.build(NodeFileSystem.layer)), (context) => {
      made = Context.get(context, FileSystem.FileSystem)
      return made
    })
    : Effect.succeed(made)
)

const by = <A, E, R>(use: (files: FileSystem.FileSystem) => Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.flatMap(node, use)

/** @since 0.1.0 @category constructors */
export const make = (): FileSystem.FileSystem =>
  FileSystem.make({
    access: (path, options) => by((files) => files.access(path, options)),
    copy: (from, to, options) => by((files) => files.copy(from, to, options)),
    copyFile: (from, to) => by((files) => files.copyFile(from, to)),
    chmod: (path, mode) => by((files) => files.chmod(path, mode)),
    chown: (path, uid, gid) => by((files) => files.chown(path, uid, gid)),
    link: (from, to) => by((files) => files.link(from, to)),
    makeDirectory: (path, options) => by((files) => files.makeDirectory(path, options)),
    makeTempDirectory: (options) => by((files) => files.makeTempDirectory(options)),
    makeTempDirectoryScoped: (options) => by((files) => files.makeTempDirectoryScoped(options)),
    makeTempFile: (options) => by((files) => files.makeTempFile(options)),
    makeTempFileScoped: (options) => by((files) => files.makeTempFileScoped(options)),
    open: (path, options) => by((files) => files.open(path, options)),
    readDirectory: (path, options) => by((files) => files.readDirectory(path, options)),
    readFile: (path) => by((files) => files.readFile(path)),
    readLink: (path) => by((files) => files.readLink(path)),
    realPath: (path) => by((files) => files.realPath(path)),
    remove: (path, options) => by((files) => files.remove(path, options)),
    rename: (from, to) => by((files) => files.rename(from, to)),
    stat: (path) => by((files) => files.stat(path)),
    symlink: (from, to) => by((files) => files.symlink(from, to)),
    truncate: (path, length) => by((files) => files.truncate(path, length)),
    utimes: (path, accessed, modified) => by((files) => files.utimes(path, accessed, modified)),
    watch: (path, options) => Stream.unwrap(Effect.map(node, (files) => files.watch(path, options))),
    writeFile: (path, data, options) => by((files) => files.writeFile(path, data, options))
  })
