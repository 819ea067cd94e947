import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { buildSync } from "esbuild"
import * as childProcess from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { AtomicFile } from "../../src/platform/AtomicFile.ts"
import { type FileCalls, nodeCalls } from "../../src/platform/FileCalls.ts"
import { Files } from "../../src/platform/Files.ts"
import { scratch } from "../tools/workspace.ts"

const write = (...args: Parameters<typeof AtomicFile.Service.write>) =>
  Effect.flatMap(AtomicFile, (atomic) => atomic.write(...args))

const rest = (directory: string): Array<string> => fs.readdirSync(directory).filter((name) => name.endsWith(".tmp"))

const errno = (code: string): Error => Object.assign(new Error(code), { code })

const isRoot = process.getuid?.() === 0

/** A program that writes files by AtomicFile, for what only another process can show. */
const program = (directory: string): string => {
  const out = path.join(directory, "child.mjs")
  buildSync({
    stdin: {
      resolveDir: path.resolve(import.meta.dirname, "../.."),
      loader: "ts",
      contents: `
        import * as Effect from "effect/Effect"
        import { AtomicFile } from "./src/platform/AtomicFile.ts"
        const [mode, file, size] = process.argv.slice(2)
        const write = (text) => Effect.flatMap(AtomicFile, (a) => a.write(file, text))
        const loop = Effect.gen(function*() {
          for (let i = 0;; i++) yield* write((i % 2 === 0 ? "A" : "B").repeat(Number(size)))
        })
        const once = write("x".repeat(Number(size))).pipe(
          Effect.match({
            onSuccess: () => process.stdout.write("written"),
            onFailure: (e) => process.stdout.write(JSON.stringify({ reason: e.reason, code: e.code, message: e.message }))
          })
        )
        Effect.runPromise(Effect.provide(mode === "loop" ? loop : once, AtomicFile.layer))
      `
    },
    bundle: true,
    platform: "node",
    format: "esm",
    outfile: out,
    banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" }
  })
  return out
}

const steps = ["open", "fchmod", "fchown", "write", "fsync", "rename", "link"] as const

describe("G4 atomic write", () => {
  it.scoped("creates, replaces, says which, and leaves nothing else behind", () =>
    Effect.gen(function*() {
      const at = path.join(yield* scratch, "a.txt")
      const first = yield* write(at, "one")
      assert.isTrue(first.created)
      const second = yield* write(at, new TextEncoder().encode("two"))
      assert.isFalse(second.created)
      assert.strictEqual(fs.readFileSync(at, "utf8"), "two")
      assert.strictEqual(second.stamp.ino, fs.statSync(at, { bigint: true }).ino)
      assert.strictEqual(second.stamp.mtime_ns, fs.statSync(at, { bigint: true }).mtimeNs)
      assert.deepStrictEqual(fs.readdirSync(path.dirname(at)), ["a.txt"])
    }).pipe(Effect.provide(AtomicFile.layer)))

  it.scoped("keeps mode and, as root, owner; a given mode is exact whatever the umask", () =>
    Effect.gen(function*() {
      const directory = yield* scratch
      const at = path.join(directory, "tool.sh")
      fs.writeFileSync(at, "old")
      fs.chmodSync(at, 0o4775)
      if (isRoot) fs.chownSync(at, 1234, 2345)
      if (isRoot) fs.chmodSync(at, 0o4775)
      yield* write(at, "new")
      const after = fs.statSync(at)
      assert.strictEqual(after.mode & 0o7777, 0o4775)
      assert.deepStrictEqual([after.uid, after.gid], isRoot ? [1234, 2345] : [process.getuid?.(), process.getgid?.()])
      const secret = path.join(directory, "deep", "er", "secret")
      yield* write(secret, "s", { mode: 0o600, create_parents: 0o700 })
      assert.strictEqual(fs.statSync(secret).mode & 0o7777, 0o600)
      assert.strictEqual(fs.statSync(path.dirname(secret)).mode & 0o777, 0o700)
      assert.strictEqual(fs.statSync(path.join(directory, "deep")).mode & 0o777, 0o700)
      yield* write(path.join(directory, "open"), "o", { mode: 0o666 })
      assert.strictEqual(fs.statSync(path.join(directory, "open")).mode & 0o777, 0o666)
    }).pipe(Effect.provide(AtomicFile.layer)))

  it.scoped("the temporary file has the final mode from its creation", () =>
    Effect.gen(function*() {
      const directory = yield* scratch
      const modes: Array<number> = []
      const calls: FileCalls = {
        ...nodeCalls,
        write: (...args) => {
          for (const name of rest(directory)) modes.push(fs.statSync(path.join(directory, name)).mode & 0o777)
          return nodeCalls.write(...args)
        },
        open: async (...args) => {
          const fd = await nodeCalls.open(...args)
          for (const name of rest(directory)) modes.push(fs.statSync(path.join(directory, name)).mode & 0o777)
          return fd
        }
      }
      yield* Effect.provide(write(path.join(directory, "k"), "key", { mode: 0o600 }), AtomicFile.layerCalls(calls))
      assert.deepStrictEqual(modes, [0o600, 0o600])
    }))

  it.scoped("writes through links, dangling ones too, and leaves the link", () =>
    Effect.gen(function*() {
      const directory = yield* scratch
      fs.mkdirSync(path.join(directory, "real"))
      fs.writeFileSync(path.join(directory, "real", "f"), "old")
      fs.symlinkSync("real/f", path.join(directory, "link"))
      fs.symlinkSync(path.join(directory, "real", "new"), path.join(directory, "dangling"))
      const written = yield* write(path.join(directory, "link"), "through")
      yield* write(path.join(directory, "dangling"), "made")
      assert.strictEqual(written.path, path.join(directory, "real", "f"))
      assert.isTrue(fs.lstatSync(path.join(directory, "link")).isSymbolicLink())
      assert.strictEqual(fs.readFileSync(path.join(directory, "real", "f"), "utf8"), "through")
      assert.strictEqual(fs.readFileSync(path.join(directory, "real", "new"), "utf8"), "made")
    }).pipe(Effect.provide(AtomicFile.layer)))

  it.scoped("refuses directories, pipes, missing parents, names of other kinds", () =>
    Effect.gen(function*() {
      const directory = yield* scratch
      childProcess.execFileSync("bash", ["-c", "mkfifo \"$0\"", path.join(directory, "pipe")])
      fs.writeFileSync(path.join(directory, "f"), "x")
      const reason = (at: string) => Effect.flip(write(at, "x")).pipe(Effect.map((error) => error.reason))
      assert.strictEqual(yield* reason(directory), "is_a_directory")
      assert.strictEqual(yield* reason("/"), "is_a_directory")
      assert.strictEqual(yield* reason(path.join(directory, "pipe")), "not_regular")
      assert.strictEqual(yield* reason("/dev/null"), "not_regular")
      assert.strictEqual(yield* reason(path.join(directory, "no", "f")), "not_found")
      assert.strictEqual(yield* reason(path.join(directory, "f", "g")), "not_a_directory")
      assert.strictEqual(yield* reason("relative"), "invalid_path")
      assert.strictEqual(yield* reason(path.join(directory, "a\0b")), "invalid_path")
      assert.strictEqual(yield* reason(path.join(directory, "n".repeat(300))), "invalid_path")
      const parents = yield* Effect.flip(
        write(path.join(directory, "p", "q", "n".repeat(300)), "x", { create_parents: 0o777 })
      )
      assert.strictEqual(parents.reason, "invalid_path")
      assert.isFalse(fs.existsSync(path.join(directory, "p")), "parents made in vain are taken away")
      assert.strictEqual((yield* write(path.join(directory, "n".repeat(255)), "x")).created, true)
    }).pipe(Effect.provide(AtomicFile.layer)))

  it.scoped("expect: absent never replaces, a stamp only its own version", () =>
    Effect.gen(function*() {
      const at = path.join(yield* scratch, "f")
      const first = yield* write(at, "1", { expect: "absent" })
      assert.strictEqual((yield* Effect.flip(write(at, "2", { expect: "absent" }))).reason, "exists")
      fs.writeFileSync(at, "somebody else")
      assert.strictEqual((yield* Effect.flip(write(at, "2", { expect: first.stamp }))).reason, "changed")
      assert.strictEqual(fs.readFileSync(at, "utf8"), "somebody else")
      fs.unlinkSync(at)
      assert.strictEqual((yield* Effect.flip(write(at, "2", { expect: first.stamp }))).reason, "changed")
      assert.deepStrictEqual(fs.readdirSync(path.dirname(at)), [])
    }).pipe(Effect.provide(AtomicFile.layer)))

  it.scoped("a file that appears or changes during the write is not overwritten", () =>
    Effect.gen(function*() {
      const directory = yield* scratch
      const at = path.join(directory, "f")
      const meddling = AtomicFile.layerCalls({
        ...nodeCalls,
        fsync: async (fd) => {
          await nodeCalls.fsync(fd)
          fs.writeFileSync(at, "meanwhile, from elsewhere")
        }
      })
      const absent = yield* Effect.flip(Effect.provide(write(at, "mine", { expect: "absent" }), meddling))
      assert.strictEqual(absent.reason, "exists")
      fs.writeFileSync(at, "known")
      const files = yield* Files
      const stamp = yield* files.stat(at)
      assert.isNotNull(stamp)
      if (stamp === null) return
      const changed = yield* Effect.flip(Effect.provide(write(at, "mine", { expect: stamp }), meddling))
      assert.strictEqual(changed.reason, "changed")
      assert.strictEqual(fs.readFileSync(at, "utf8"), "meanwhile, from elsewhere")
      assert.deepStrictEqual(rest(directory), [])
    }).pipe(Effect.provide(Files.layer)))

  for (const step of steps) {
    for (const code of ["ENOSPC", "EIO"]) {
      it.scoped(`${code} at ${step}: the old file stays whole, no temporary file is left, the error says so`, () =>
        Effect.gen(function*() {
          const directory = yield* scratch
          const at = path.join(directory, "f")
          fs.writeFileSync(at, "old", { mode: 0o640 })
          let reached = false
          const fail = () => {
            reached = true
            return Promise.reject(errno(code))
          }
          const failing: FileCalls = {
            ...nodeCalls,
            ...(step === "open"
              ? { open: (file, flags, mode) => mode === undefined ? nodeCalls.open(file, flags) : fail() }
              : step === "write"
              // Half of it first, as a full disk does.
              ? {
                write: (fd, bytes, from, length) => from > 0 ? fail() : nodeCalls.write(fd, bytes, from, length >> 1)
              }
              : { [step]: fail })
          }
          if (isRoot && step === "fchown") fs.chownSync(at, 1234, 1234)
          const target = step === "link" ? path.join(directory, "new") : at
          const options = step === "link" ? { expect: "absent" as const } : {}
          const result = yield* Effect.either(
            Effect.provide(write(target, "new content", options), AtomicFile.layerCalls(failing))
          )
          if (!reached) {
            // Not root: the owner is ours already, fchown has nothing to do.
            assert.strictEqual(step, "fchown")
            return
          }
          assert.strictEqual(result._tag, "Left")
          if (result._tag === "Left") {
            assert.strictEqual(result.left.reason, code === "ENOSPC" ? "no_space" : "io")
            assert.include(result.left.message, target)
          }
          assert.strictEqual(fs.readFileSync(at, "utf8"), "old")
          assert.deepStrictEqual(fs.readdirSync(directory), ["f"])
        }))
    }
  }

  it.scoped("interruption in the middle of the write: old file whole, no temporary file", () =>
    Effect.gen(function*() {
      const directory = yield* scratch
      const at = path.join(directory, "f")
      fs.writeFileSync(at, "old")
      let open = (): void => undefined
      const gate = new Promise<void>((resolve) => {
        open = resolve
      })
      let arrive = (): void => undefined
      const arrived = new Promise<void>((resolve) => {
        arrive = resolve
      })
      const slow: FileCalls = {
        ...nodeCalls,
        write: async (...args) => {
          arrive()
          await gate
          return nodeCalls.write(...args)
        }
      }
      const fiber = yield* Effect.fork(Effect.provide(write(at, "new"), AtomicFile.layerCalls(slow)))
      yield* Effect.promise(() => arrived)
      assert.strictEqual(rest(directory).length, 1)
      const interrupted = yield* Effect.fork(Fiber.interrupt(fiber))
      open()
      const exit = yield* Fiber.join(interrupted)
      assert.strictEqual(exit._tag, "Failure")
      assert.strictEqual(fs.readFileSync(at, "utf8"), "old")
      assert.deepStrictEqual(fs.readdirSync(directory), ["f"])
    }))

  it.scoped("10.3: a directory exchanged for a link between check and rename leads nowhere else", () =>
    Effect.gen(function*() {
      const base = yield* scratch
      const [inside, outside] = [path.join(base, "inside"), path.join(base, "outside")]
      fs.mkdirSync(inside)
      fs.mkdirSync(outside)
      fs.writeFileSync(path.join(outside, "f"), "precious")
      let swapped = 0
      const swap = (): void => {
        if (swapped++ > 0) return
        fs.renameSync(inside, path.join(base, "away"))
        fs.symlinkSync(outside, inside)
      }
      for (const step of ["open", "lstat", "write", "fsync", "rename", "realpath"] as const) {
        swapped = 0
        const calls: FileCalls = {
          ...nodeCalls,
          [step]: (...args: ReadonlyArray<unknown>) => {
            swap()
            return Reflect.apply(nodeCalls[step], nodeCalls, args)
          }
        }
        yield* Effect.either(
          Effect.provide(write(path.join(inside, "f"), "mine", { approved: true }), AtomicFile.layerCalls(calls))
        )
        assert.strictEqual(fs.readFileSync(path.join(outside, "f"), "utf8"), "precious", step)
        assert.deepStrictEqual(fs.readdirSync(outside), ["f"], step)
        if (swapped > 0) {
          fs.unlinkSync(inside)
          fs.renameSync(path.join(base, "away"), inside)
        }
        fs.rmSync(path.join(inside, "f"), { force: true })
      }
    }))

  it.scoped("approved: a link in the place of the file, or on the way, is refused", () =>
    Effect.gen(function*() {
      const base = yield* scratch
      fs.mkdirSync(path.join(base, "other"))
      fs.symlinkSync("other", path.join(base, "way"))
      fs.symlinkSync("other/f", path.join(base, "f"))
      for (const name of ["f", "way/f"]) {
        const error = yield* Effect.flip(write(path.join(base, name), "x", { approved: true }))
        assert.strictEqual(error.reason, "moved")
      }
      assert.deepStrictEqual(fs.readdirSync(path.join(base, "other")), [])
    }).pipe(Effect.provide(AtomicFile.layer)))

  it.scoped("kill -9 in the middle of writing: always one version or the other, whole", () =>
    Effect.gen(function*() {
      const directory = yield* scratch
      const child = program(directory)
      const at = path.join(directory, "f")
      const size = 3_000_000
      fs.writeFileSync(at, "B".repeat(size))
      const seen = new Set<string>()
      let interrupted = 0
      for (let round = 0; round < 7 || (interrupted === 0 && round < 40); round++) {
        yield* Effect.promise(() =>
          new Promise<void>((resolve, reject) => {
            const running = childProcess.spawn(process.execPath, [child, "loop", at, String(size)], {
              stdio: "inherit"
            })
            running.on("error", reject)
            running.on("exit", () => resolve())
            // The kill comes at another moment of the write in each round.
            let changes = 0
            const watcher = fs.watch(directory, () => {
              if (++changes === 5 + round * 3) running.kill("SIGKILL")
            })
            running.on("exit", () => watcher.close())
          })
        )
        const text = fs.readFileSync(at, "utf8")
        assert.strictEqual(text.length, size)
        assert.isTrue(text === "A".repeat(size) || text === "B".repeat(size))
        seen.add(text.charAt(0))
        const left = rest(directory)
        interrupted += left.length
        for (const name of left) fs.unlinkSync(path.join(directory, name))
      }
      // Some of the kills did come in mid-write.
      assert.isAbove(interrupted, 0)
      assert.isAbove(seen.size, 0)
    }), 60_000)

  it.scoped(
    "no room (a real limit) and a read-only directory: refused, nothing left behind",
    () =>
      Effect.gen(function*() {
        const directory = yield* scratch
        const child = program(directory)
        fs.chmodSync(directory, 0o755)
        const limited = path.join(directory, "limited")
        fs.mkdirSync(limited)
        fs.writeFileSync(path.join(limited, "f"), "old")
        const out = childProcess.execFileSync("bash", [
          "-c",
          `ulimit -f 100; exec "$0" "$@"`,
          process.execPath,
          child,
          "once",
          path.join(limited, "f"),
          "900000"
        ], { encoding: "utf8" })
        assert.strictEqual(JSON.parse(out).reason, "no_space")
        assert.deepStrictEqual(fs.readdirSync(limited), ["f"])
        assert.strictEqual(fs.readFileSync(path.join(limited, "f"), "utf8"), "old")

        const closed = path.join(directory, "closed")
        fs.mkdirSync(closed)
        fs.writeFileSync(path.join(closed, "f"), "old")
        fs.chmodSync(path.join(closed, "f"), 0o666)
        fs.chmodSync(closed, 0o555)
        // Root may write everywhere, so somebody else tries.
        const nobody = isRoot ? { uid: 65_534, gid: 65_534 } : {}
        const denied = childProcess.execFileSync(process.execPath, [child, "once", path.join(closed, "f"), "10"], {
          encoding: "utf8",
          cwd: "/",
          ...nobody
        })
        assert.strictEqual(JSON.parse(denied).reason, "permission")
        assert.include(JSON.parse(denied).message, path.join(closed, "f"))
        assert.deepStrictEqual(fs.readdirSync(closed), ["f"])

        const open = path.join(directory, "open")
        fs.mkdirSync(open)
        fs.chmodSync(open, 0o777)
        fs.writeFileSync(path.join(open, "f"), "old")
        fs.chmodSync(path.join(open, "f"), 0o444)
        const locked = childProcess.execFileSync(process.execPath, [child, "once", path.join(open, "f"), "10"], {
          encoding: "utf8",
          cwd: "/",
          ...nobody
        })
        assert.strictEqual(JSON.parse(locked).reason, "permission", "a read-only file is not replaced")
        assert.strictEqual(fs.readFileSync(path.join(open, "f"), "utf8"), "old")
        fs.chmodSync(closed, 0o755)
      }),
    60_000
  )
})
