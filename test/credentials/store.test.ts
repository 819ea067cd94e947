import * as FileSystem from "@effect/platform/FileSystem"
import { SystemError } from "@effect/platform/Error"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/TestClock"
import * as fs from "node:fs"
import * as path from "node:path"
import type { CredentialError } from "../../src/credentials/CredentialError.ts"
import { CredentialStore } from "../../src/credentials/CredentialStore.ts"
import { OAuthError, type TokenAnswer } from "../../src/credentials/OAuthClient.ts"
import type { ProviderCredential } from "../../src/credentials/ProviderCredential.ts"
import { nodeCalls } from "../../src/platform/FileCalls.ts"
import { FileLock } from "../../src/platform/FileLock.ts"
import { logTo } from "../support/logged.ts"
import {
  answer,
  type Home,
  login,
  makeHome,
  makeServer,
  platform,
  refreshOver,
  type Server,
  settings,
  storeLayer
} from "./storeSupport.ts"

const none: Server = makeServer(() => Effect.dieMessage("nothing was to be asked"))

const using = <A, E>(
  body: (home: Home, store: Context.Tag.Service<typeof CredentialStore>) => Effect.Effect<A, E, Scope.Scope>,
  server = none,
  calls?: Parameters<typeof storeLayer>[2]
) =>
  Effect.flatMap(
    makeHome,
    (home) =>
      Effect.provide(Effect.flatMap(CredentialStore, (store) => body(home, store)), storeLayer(home, server, calls))
  )

const token = (credential: ProviderCredential) => Redacted.value(credential.access_token)
const tokens = (credential: ProviderCredential) => [
  token(credential),
  credential.refresh_token === null ? null : Redacted.value(credential.refresh_token)
]

const refusal = (reason: OAuthError["reason"]) => new OAuthError({ reason, message: "the server says no" })

/** Expired at any time. */
const expired = { access_token: "old", refresh_token: "r0", expires_at: 0 }

describe("CredentialStore", () => {
  it.scoped("6.10, G4: nothing at first; made with 0600 in a directory with 0700; removed again", () =>
    using((home, store) =>
      Effect.gen(function*() {
        assert.strictEqual(store.file, home.file)
        assert.isTrue(Option.isNone(yield* store.get("hanzo")))
        assert.deepStrictEqual(yield* store.list, { logins: [], broken: [] })
        assert.isFalse(yield* store.remove("hanzo"))
        assert.isFalse(fs.existsSync(home.config), "asking makes nothing")
        yield* store.store(login("hanzo", { scopes: ["a"], issuer: "https://hanzo.id" }))
        assert.strictEqual(home.mode(), "600")
        assert.strictEqual(fs.statSync(home.config).mode & 0o777, 0o700)
        const found = Option.getOrThrow(yield* store.get("hanzo"))
        assert.deepStrictEqual(tokens(found), ["access-hanzo", "refresh-hanzo"])
        assert.deepStrictEqual([found.scopes, found.issuer], [["a"], "https://hanzo.id"])
        yield* store.store(login("openai"))
        assert.isTrue(yield* store.remove("hanzo"))
        assert.isFalse(yield* store.remove("hanzo"))
        assert.deepStrictEqual((yield* store.list).logins.map(({ provider, state }) => [provider, state]), [
          ["openai", "valid"]
        ])
        assert.deepStrictEqual(home.left(), ["credentials.json"])
      })
    ))

  it.scoped("states: valid, due, needs_login; one broken entry does not hide the others", () =>
    using((home, store) =>
      Effect.gen(function*() {
        yield* TestClock.setTime(1_000_000)
        home.write({
          forever: { access_token: "t" },
          good: { access_token: "t", expires_at: 1_060 },
          soon: { access_token: "t", expires_at: 1_059, refresh_token: "r" },
          last: { access_token: "t", expires_at: 1_059 },
          over: { access_token: "t", expires_at: 1_000 },
          empty: { access_token: "", refresh_token: "r" },
          broken: { access_token: 5 }
        })
        const { broken, logins } = yield* store.list
        assert.deepStrictEqual(logins.map(({ provider, state }) => [provider, state]), [
          ["forever", "valid"],
          ["good", "valid"],
          ["soon", "due"],
          ["last", "valid"],
          ["over", "needs_login"],
          ["empty", "due"]
        ])
        assert.strictEqual(broken[0]?.provider, "broken")
        assert.include(broken[0]?.message, `${home.file}, line 1, column`)
        assert.strictEqual((yield* Effect.flip(store.get("broken"))).reason, "corrupt")
      })
    ))

  it.scoped("6.10: a file that others can read is tightened, and that is said", () => {
    const lines: Array<string> = []
    return using((home, store) =>
      Effect.gen(function*() {
        home.write({ hanzo: { access_token: "secret-token" } }, 0o644)
        assert.isTrue(Option.isSome(yield* store.get("hanzo")))
        assert.strictEqual(home.mode(), "600")
        yield* store.get("hanzo")
        assert.strictEqual(lines.length, 1)
        assert.include(lines[0], home.file)
        assert.include(lines[0], "0644")
        assert.notInclude(lines.join(), "secret-token")
      }).pipe(Effect.provide(logTo(lines)))
    )
  })

  it.scoped("6.10: so is the program's own directory; of another one it is said when others may write there", () => {
    const lines: Array<string> = []
    const opened = (mode: number, vars: Record<string, string> = {}) =>
      Effect.gen(function*() {
        const home = yield* makeHome
        home.write({ hanzo: { access_token: "t" } })
        fs.chmodSync(home.config, mode)
        lines.length = 0
        const store = yield* Effect.provide(CredentialStore, storeLayer(home, none, undefined, vars))
        yield* store.get("hanzo")
        yield* store.get("hanzo")
        return [(fs.statSync(home.config).mode & 0o7777).toString(8), lines.length, lines[0] ?? ""] as const
      }).pipe(Effect.provide(logTo(lines)))
    return Effect.gen(function*() {
      const [mode, count, said] = yield* opened(0o755)
      assert.deepStrictEqual([mode, count], ["700", 1])
      assert.match(said, /was open to others \(mode 0755\)/u)
      const chosen = { HANZO_CONFIG_HOME: "/chosen" }
      assert.deepStrictEqual((yield* opened(0o755, chosen)).slice(0, 2), ["755", 0])
      const [kept, once, warned] = yield* opened(0o777, chosen)
      assert.deepStrictEqual([kept, once], ["777", 1])
      assert.match(warned, /others may write in .*chmod 700/u)
    })
  })

  it.scoped("6.10: if it cannot be tightened it is refused, for reading and for writing", () =>
    Effect.gen(function*() {
      const home = yield* makeHome
      home.write({ hanzo: { access_token: "t" } }, 0o604)
      const stubborn = Layer.effect(
        FileSystem.FileSystem,
        Effect.map(FileSystem.FileSystem, (real) => ({
          ...real,
          chmod: () =>
            Effect.fail(new SystemError({ reason: "PermissionDenied", module: "FileSystem", method: "chmod" }))
        }))
      )
      const store = yield* Effect.provide(
        CredentialStore,
        CredentialStore.layerOver.pipe(
          Layer.provide(Layer.mergeAll(FileLock.layer, refreshOver(none), stubborn)),
          Layer.provide(platform(home))
        )
      )
      const attempts: ReadonlyArray<Effect.Effect<void, CredentialError>> = [
        Effect.asVoid(store.get("hanzo")),
        Effect.asVoid(store.store(login("openai"))),
        Effect.asVoid(store.list),
        Effect.asVoid(store.remove("hanzo"))
      ]
      for (const attempt of attempts) {
        const error = yield* Effect.flip(attempt)
        assert.strictEqual(error.reason, "insecure")
        assert.include(error.message, home.file)
        assert.include(error.message, "chmod 600")
      }
      assert.deepStrictEqual(home.json(), { hanzo: { access_token: "t" } })
    }))

  it.scoped("G4: a symbolic link is written through and stays", () =>
    using((home, store) =>
      Effect.gen(function*() {
        home.write("{}")
        const real = path.join(home.root, "elsewhere.json")
        fs.renameSync(home.file, real)
        fs.symlinkSync(real, home.file)
        yield* store.store(login("hanzo"))
        assert.strictEqual(fs.readlinkSync(home.file), real)
        assert.strictEqual(JSON.parse(fs.readFileSync(real, "utf8")).hanzo.access_token, "access-hanzo")
        assert.strictEqual(fs.statSync(real).mode & 0o777, 0o600)
        assert.isTrue(yield* store.remove("hanzo"))
        fs.rmSync(real)
        assert.isTrue(Option.isNone(yield* store.get("hanzo")), "a link to nothing holds nothing")
        yield* store.store(login("openai"))
        assert.isTrue(fs.existsSync(real))
        assert.strictEqual(fs.readlinkSync(home.file), real)
      })
    ))

  it.scoped("a config home behind a link", () =>
    using((home, store) =>
      Effect.gen(function*() {
        fs.mkdirSync(path.join(home.root, "real"))
        fs.symlinkSync(path.join(home.root, "real"), home.config)
        yield* store.store(login("hanzo"))
        yield* store.store(login("openai"))
        assert.deepStrictEqual((yield* store.list).logins.map(({ provider }) => provider), ["hanzo", "openai"])
        assert.isTrue(fs.existsSync(path.join(home.root, "real/credentials.json")))
        assert.deepStrictEqual(home.left(), ["credentials.json"])
      })
    ))

  it.scoped("6.10: a corrupt file is an error with its place and is never overwritten", () =>
    using((home, store) =>
      Effect.gen(function*() {
        for (
          const text of [`{"hanzo": {"access_token": "s3cret"}`, `[]`, `{"openai": {"access_token": 7}}`, "\xff\xfe"]
        ) {
          home.write("")
          fs.writeFileSync(home.file, text, "latin1")
          const before = home.stamp()
          const attempts: ReadonlyArray<Effect.Effect<void, CredentialError>> = [
            Effect.asVoid(store.get("openai")),
            Effect.asVoid(store.store(login("openai"))),
            Effect.asVoid(store.refresh("openai", settings))
          ]
          for (const attempt of attempts) {
            const error = yield* Effect.flip(attempt)
            assert.strictEqual(error.reason, "corrupt")
            assert.match(error.message, /credentials\.json, line \d+, column \d+: /u)
            assert.notInclude(error.message, "s3cret")
          }
          assert.strictEqual(home.stamp(), before)
        }
      })
    ))

  it.scoped("6.10: on request the old one is kept under another name", () =>
    using((home, store) =>
      Effect.gen(function*() {
        yield* TestClock.setTime(5)
        home.write(`{"hanzo": `)
        const { kept } = yield* store.store(login("openai"), { replace_corrupt: true })
        assert.strictEqual(kept, `${home.file}.corrupt-5`)
        assert.strictEqual(fs.readFileSync(`${home.file}.corrupt-5`, "utf8"), `{"hanzo": `)
        assert.strictEqual(fs.statSync(`${home.file}.corrupt-5`).mode & 0o777, 0o600)
        assert.deepStrictEqual(Object.keys(home.json()), ["openai"])
        // one broken entry: the others stay
        home.write({ openai: { access_token: 7 }, hanzo: { access_token: "h" } })
        yield* TestClock.setTime(6)
        assert.strictEqual(
          (yield* store.store(login("openai"), { replace_corrupt: true })).kept,
          `${home.file}.corrupt-6`
        )
        assert.deepStrictEqual(Object.keys(home.json()).sort(), ["hanzo", "openai"])
        assert.isNull((yield* store.store(login("openai"), { replace_corrupt: true })).kept)
      })
    ))

  it.scoped("names that have another meaning are refused; a directory in its place is said", () =>
    using((home, store) =>
      Effect.gen(function*() {
        assert.strictEqual((yield* Effect.flip(store.store(login("mcp")))).reason, "invalid_name")
        fs.mkdirSync(home.file, { recursive: true })
        assert.strictEqual((yield* Effect.flip(store.get("hanzo"))).reason, "unreadable")
      })
    ))

  it.scoped("a program without the lock that writes in between loses nothing", () => {
    const at: { home?: Home } = {}
    let once = true
    return using(
      (home, store) =>
        Effect.gen(function*() {
          at.home = home
          home.write({ foreign: { access_token: "1" } })
          yield* store.store(login("hanzo"))
          assert.deepStrictEqual(Object.keys(home.json()), ["foreign", "second", "hanzo"])
        }),
      none,
      {
        ...nodeCalls,
        fsync: (fd) => {
          if (once) at.home?.write({ foreign: { access_token: "1" }, second: { access_token: "2" } })
          once = false
          return nodeCalls.fsync(fd)
        }
      }
    )
  })
})

describe("refresh", () => {
  it.scoped("6.7: rotation, derived expiry, scopes; stored before anybody has it", () => {
    const server = makeServer((sent) => Effect.succeed(answer(`after-${sent}`, { scopes: ["x"] })))
    return using((home, store) =>
      Effect.gen(function*() {
        home.write({ hanzo: { ...expired, scopes: ["a"], note: 1 }, other: { access_token: "o" } })
        const renewed = yield* store.refresh("hanzo", settings)
        assert.deepStrictEqual(tokens(renewed), ["after-r0", "after-r0-refresh"])
        assert.deepStrictEqual(home.json(), {
          hanzo: {
            access_token: "after-r0",
            refresh_token: "after-r0-refresh",
            expires_at: 10_000_000,
            scopes: ["x"],
            note: 1
          },
          other: { access_token: "o" }
        })
        assert.deepStrictEqual(home.left(), ["credentials.json"])
        assert.strictEqual(token(yield* store.refresh("hanzo", settings)), "after-after-r0-refresh")
      }), server)
  })

  it.scoped("6.9: no refresh token in the answer keeps the old one", () => {
    const server = makeServer(() => Effect.succeed(answer("new", { refresh_token: null, expires_at: null })))
    return using((home, store) =>
      Effect.gen(function*() {
        home.write({ hanzo: { ...expired, scopes: ["a"] } })
        assert.deepStrictEqual(tokens(yield* store.refresh("hanzo", settings)), ["new", "r0"])
        assert.deepStrictEqual(home.json(), {
          hanzo: { access_token: "new", refresh_token: "r0", expires_at: null, scopes: ["a"] }
        })
      }), server)
  })

  it.scoped("6.8: a newer token in the file is used without a request; an old layout is refreshed into the new one", () => {
    const server = makeServer((sent) => Effect.succeed(answer(`after-${sent}`)))
    return using((home, store) =>
      Effect.gen(function*() {
        home.write({ oauth_openai: { accessToken: "newer", refreshToken: "r1", expiresAt: null } })
        const than = Redacted.make("older")
        assert.strictEqual(token(yield* store.refresh("openai", settings, { than })), "newer")
        assert.deepStrictEqual(server.sent, [])
        assert.strictEqual(token(yield* store.refresh("openai", settings)), "after-r1")
        assert.deepStrictEqual(Object.keys(home.json()), ["openai"])
        // newer, but as good as over
        home.write({ openai: { ...expired, access_token: "newer" } })
        assert.strictEqual(token(yield* store.refresh("openai", settings, { than })), "after-r0")
      }), server)
  })

  it.scoped("6.8: in one process one request for everyone; a waiter that leaves ends nothing", () =>
    Effect.gen(function*() {
      const gate = yield* Deferred.make<TokenAnswer>()
      const asked = yield* Deferred.make<void>()
      const server = makeServer(() => Effect.zipRight(Deferred.succeed(asked, undefined), Deferred.await(gate)))
      yield* using((home, store) =>
        Effect.gen(function*() {
          home.write({ hanzo: expired })
          const than = Redacted.make("old")
          const waiters = yield* Effect.all(
            Array.from({ length: 20 }, () => Effect.fork(store.refresh("hanzo", settings, { than })))
          )
          yield* Deferred.await(asked)
          const [first, second, ...others] = waiters
          if (first === undefined || second === undefined) return assert.fail()
          // the one that began it is among those that leave
          assert.isTrue(Exit.isInterrupted(yield* Fiber.interrupt(first)))
          yield* Fiber.interrupt(second)
          assert.strictEqual(home.json()["hanzo"]?.["access_token"], "old")
          yield* Deferred.succeed(gate, answer("new"))
          for (const other of others) assert.strictEqual(token(yield* Fiber.join(other)), "new")
          assert.deepStrictEqual(server.sent, ["r0"])
          assert.strictEqual(home.json()["hanzo"]?.["access_token"], "new")
        }), server)
    }))

  it.scoped("who joined a flight for an older token gets one newer than its own", () =>
    Effect.gen(function*() {
      const gate = yield* Deferred.make<void>()
      const server = makeServer((sent) =>
        Effect.as(sent === "r0" ? Deferred.await(gate) : Effect.void, answer(`${sent}+`))
      )
      yield* using((home, store) =>
        Effect.gen(function*() {
          home.write({ hanzo: expired })
          const one = yield* Effect.fork(store.refresh("hanzo", settings))
          yield* Effect.repeat(Effect.promise(() => new Promise(setImmediate)), { until: () => server.sent.length > 0 })
          const two = yield* Effect.fork(store.refresh("hanzo", settings, { than: Redacted.make("r0+") }))
          yield* Effect.yieldNow()
          yield* Deferred.succeed(gate, undefined)
          assert.strictEqual(token(yield* Fiber.join(one)), "r0+")
          assert.strictEqual(token(yield* Fiber.join(two)), "r0+-refresh+")
        }), server)
    }))

  it.scoped("6.9: a failed refresh writes nothing", () => {
    const server = makeServer(() => Effect.fail(refusal("unavailable")))
    return using((home, store) =>
      Effect.gen(function*() {
        home.write({ hanzo: expired, lonely: { access_token: "t", expires_at: 0 } })
        const before = home.stamp()
        for (
          const [reason, expected] of [
            ["unavailable", "unavailable"],
            ["authorization_error", "unavailable"],
            ["not_configured", "not_configured"]
          ] as const
        ) {
          server.answer = () => Effect.fail(refusal(reason))
          const error = yield* Effect.flip(store.refresh("hanzo", settings))
          assert.strictEqual(error.reason, expected)
          assert.include(error.message, "hanzo")
          assert.include(error.message, "the server says no")
        }
        assert.strictEqual((yield* Effect.flip(store.refresh("nobody", settings))).reason, "not_found")
        assert.strictEqual((yield* Effect.flip(store.refresh("lonely", settings))).reason, "needs_login")
        assert.strictEqual(home.stamp(), before)
        assert.deepStrictEqual(home.left(), ["credentials.json"])
      }), server)
  })

  it.scoped("6.9: invalid_grant: a newer token in the file is used", () =>
    Effect.gen(function*() {
      const at: { home?: Home } = {}
      const server = makeServer((sent) =>
        Effect.suspend(() => {
          if (sent !== "r0") return Effect.succeed(answer(`after-${sent}`))
          at.home?.write({ hanzo: { access_token: "theirs", refresh_token: "r9", expires_at: null } })
          return Effect.fail(refusal("invalid_grant"))
        })
      )
      yield* using((home, store) =>
        Effect.gen(function*() {
          at.home = home
          home.write({ hanzo: expired })
          assert.deepStrictEqual(tokens(yield* store.refresh("hanzo", settings)), ["theirs", "r9"])
          assert.deepStrictEqual(server.sent, ["r0"])
        }), server)
    }))

  it.scoped("6.9: invalid_grant and nothing newer: the entry stays, needs_login, and nobody asks again", () => {
    const server = makeServer(() => Effect.fail(refusal("invalid_grant")))
    return using((home, store) =>
      Effect.gen(function*() {
        home.write({ hanzo: expired })
        const before = home.stamp()
        for (let i = 0; i < 3; i++) {
          const error = yield* Effect.flip(store.refresh("hanzo", settings))
          assert.strictEqual(error.reason, "needs_login")
          assert.strictEqual(error.provider, "hanzo")
        }
        assert.deepStrictEqual(server.sent, ["r0"])
        assert.strictEqual(home.stamp(), before)
        assert.strictEqual(Option.getOrThrow(yield* store.look("hanzo")).state, "needs_login")
        yield* store.store(login("hanzo"))
        assert.strictEqual(Option.getOrThrow(yield* store.look("hanzo")).state, "valid")
      }), server)
  })

  it.scoped("the end of the program waits for an answer that is on its way, and stores it", () =>
    Effect.gen(function*() {
      const home = yield* makeHome
      home.write({ hanzo: expired })
      const gate = yield* Deferred.make<TokenAnswer>()
      const asked = yield* Deferred.make<void>()
      const server = makeServer(() => Effect.zipRight(Deferred.succeed(asked, undefined), Deferred.await(gate)))
      const scope = yield* Scope.make()
      const context = yield* Layer.buildWithScope(storeLayer(home, server), scope)
      const waiter = yield* Effect.fork(Context.get(context, CredentialStore).refresh("hanzo", settings))
      yield* Deferred.await(asked)
      const closing = yield* Effect.fork(Scope.close(scope, Exit.void))
      yield* TestClock.adjust(4_900)
      yield* Deferred.succeed(gate, answer("new"))
      yield* Fiber.join(closing)
      yield* Fiber.await(waiter)
      assert.strictEqual(home.json()["hanzo"]?.["access_token"], "new")
      assert.deepStrictEqual(home.left(), ["credentials.json"])
    }))

  it.scoped("but not for ever", () =>
    Effect.gen(function*() {
      const home = yield* makeHome
      home.write({ hanzo: expired })
      const asked = yield* Deferred.make<void>()
      const server = makeServer(() => Effect.zipRight(Deferred.succeed(asked, undefined), Effect.never))
      const scope = yield* Scope.make()
      const context = yield* Layer.buildWithScope(storeLayer(home, server), scope)
      const waiter = yield* Effect.fork(Context.get(context, CredentialStore).refresh("hanzo", settings))
      yield* Deferred.await(asked)
      const closing = yield* Effect.fork(Scope.close(scope, Exit.void))
      yield* TestClock.adjust(5_100)
      yield* Fiber.join(closing)
      assert.isTrue(Exit.isInterrupted(yield* Fiber.await(waiter)))
      assert.deepStrictEqual(home.json(), { hanzo: expired })
      assert.deepStrictEqual(home.left(), ["credentials.json"])
    }))

  describe("a disk that takes nothing", () => {
    const full = (when: (opened: string) => boolean) => {
      const fds = new Set<number>()
      return {
        ...nodeCalls,
        open: async (at: string, flags: number, mode?: number) => {
          const fd = await nodeCalls.open(at, flags, mode)
          fds.delete(fd)
          if (when(at)) fds.add(fd)
          return fd
        },
        write: (fd: number, bytes: Uint8Array, offset: number, length: number) =>
          fds.has(fd)
            ? Promise.reject(Object.assign(new Error("no space"), { code: "ENOSPC" }))
            : nodeCalls.write(fd, bytes, offset, length)
      }
    }

    it.scoped("found out before anybody logs in or out", () =>
      using(
        (home, store) =>
          Effect.gen(function*() {
            const error = yield* Effect.flip(store.ready)
            assert.strictEqual(error.reason, "unwritable")
            assert.include(error.message, "no space left")
            assert.deepStrictEqual(home.left(), [])
          }),
        none,
        full((at) => at.includes(".room"))
      ))

    it.scoped("found out before: the refresh token is not used up", () =>
      using(
        (home, store) =>
          Effect.gen(function*() {
            home.write({ hanzo: expired })
            const before = home.stamp()
            const error = yield* Effect.flip(store.refresh("hanzo", settings))
            assert.strictEqual(error.reason, "unwritable")
            assert.include(error.message, "was not refreshed")
            assert.include(error.message, "no space left")
            assert.strictEqual(home.stamp(), before)
            assert.deepStrictEqual(home.left(), ["credentials.json"])
          }),
        none,
        full((at) => at.includes(".room"))
      ))

    it.scoped("found out too late: this process goes on with the new login and stores it when it can", () => {
      const lines: Array<string> = []
      let broken = true
      const server = makeServer((sent) => Effect.succeed(answer(`after-${sent}`)))
      return using(
        (home, store) =>
          Effect.gen(function*() {
            home.write({ hanzo: expired })
            const before = home.stamp()
            assert.strictEqual(token(yield* store.refresh("hanzo", settings)), "after-r0")
            assert.strictEqual(home.stamp(), before, "the old file is whole")
            assert.deepStrictEqual(home.left(), ["credentials.json"])
            assert.strictEqual(lines.length, 1)
            assert.include(lines[0], "for this process only")
            assert.notInclude(lines[0], "after-r0")
            assert.strictEqual(token(Option.getOrThrow(yield* store.get("hanzo"))), "after-r0")
            yield* TestClock.adjust(10_000)
            yield* Effect.promise(() => new Promise((resolve) => setTimeout(resolve, 50)))
            assert.strictEqual(home.stamp(), before)
            broken = false
            const saved = () => home.json()["hanzo"]?.["access_token"] === "after-r0"
            yield* Effect.repeat(
              Effect.zipRight(
                TestClock.adjust(10_000),
                Effect.promise(() => new Promise((resolve) => setTimeout(resolve, 10)))
              ),
              { until: saved }
            )
            const than = Redacted.make("old")
            assert.strictEqual(token(yield* store.refresh("hanzo", settings, { than })), "after-r0")
            assert.deepStrictEqual(server.sent, ["r0"])
          }).pipe(Effect.provide(logTo(lines))),
        server,
        full((at) => broken && at.includes("credentials.json.") && !at.includes(".room"))
      )
    })
  })
})
