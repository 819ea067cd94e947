/** `hanzo-dev doctor`: what it says is so, and it never shows a key. */
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodePath from "@effect/platform-node/NodePath"
import * as FileSystem from "@effect/platform/FileSystem"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import * as Doctor from "../../src/cli/Doctor.ts"
import { layerUnasked } from "../../src/cli/DoctorLogins.ts"
import * as Schemas from "../../src/cli/Schemas.ts"
import { colourless } from "../../src/cli/Style.ts"
import { Config } from "../../src/config/Config.ts"
import { Credentials } from "../../src/credentials/Credentials.ts"
import { CredentialStore } from "../../src/credentials/CredentialStore.ts"
import { Workspace } from "../../src/domain/Workspace.ts"
import { AtomicFile } from "../../src/platform/AtomicFile.ts"
import { Dirs } from "../../src/platform/Dirs.ts"
import { Environment } from "../../src/platform/Environment.ts"
import { Files } from "../../src/platform/Files.ts"
import { Http } from "../../src/platform/Http.ts"
import { Processes } from "../../src/platform/Processes.ts"
import { Terminal } from "../../src/platform/Terminal.ts"
import { type LocalServer, LocalServers } from "../../src/provider/LocalServers.ts"
import { ScriptedModels } from "../../src/provider/ScriptedModels.ts"
import { Targets } from "../../src/provider/Targets.ts"
import { Container, type ContainerProbes } from "../../src/sandbox/Detect.ts"
import { type Available, Enforcement } from "../../src/sandbox/Enforcement.ts"
import { Sandbox } from "../../src/sandbox/Sandbox.ts"

const secret = "sk-do-not-show"

const bubblewrap: Available = {
  method: {
    kind: "bubblewrap",
    program: "/usr/bin/bwrap",
    shell: "/bin/sh",
    filter: new Uint8Array(),
    kernel_files: []
  },
  reason: null,
  probes: []
}

interface Machine {
  readonly vars?: Record<string, string>
  readonly settings?: string
  readonly node_version?: string
  readonly servers?: ReadonlyArray<LocalServer>
  readonly available?: Available
  readonly container?: Partial<ContainerProbes>
  readonly out?: Array<string>
}

const layerOf = (root: string, machine: Machine) =>
  Layer.merge(Targets.layer, Sandbox.layer).pipe(
    Layer.provide(ScriptedModels.layer),
    Layer.provideMerge(Layer.provide(layerUnasked, Credentials.layerStore)),
    Layer.provideMerge(Layer.provide(CredentialStore.layer, AtomicFile.layer)),
    Layer.provideMerge(Layer.mergeAll(
      Http.layer,
      Layer.succeed(LocalServers, { detect: Effect.succeed(machine.servers ?? []) }),
      Config.layerText(machine.settings ?? ""),
      Layer.succeed(Workspace, { root, cwd: root }),
      Dirs.layerTest(root),
      Container.layerProbes(machine.container ?? {}),
      Enforcement.layerFixed(machine.available ?? bubblewrap),
      Processes.layer,
      Files.layer,
      NodePath.layer,
      Terminal.layerTest({ out: machine.out ?? [] })
    )),
    Layer.provideMerge(Layer.merge(
      Environment.layerTest({
        vars: { PATH: "/usr/bin:/bin", ...machine.vars },
        cwd: root,
        home: root,
        ...(machine.node_version === undefined ? {} : { node_version: machine.node_version })
      }),
      NodeFileSystem.layer
    ))
  )

const look = (machine: Machine = {}) =>
  Effect.scoped(Effect.gen(function*() {
    const fs = yield* FileSystem.FileSystem
    const root = yield* fs.makeTempDirectoryScoped()
    return yield* Effect.provide(Doctor.report, layerOf(root, machine))
  })).pipe(Effect.provide(NodeFileSystem.layer))

const group = (report: Schemas.DoctorReport, name: Schemas.DoctorCheck["group"]) =>
  report.checks.filter((each) => each.group === name).map((each) => [each.name, each.status, each.detail, each.fix])

/** A model server on this machine. */
const server = (status: number, body: string) => {
  const asked: Array<string | undefined> = []
  const http = createServer((request, response) => {
    asked.push(request.url, request.headers.authorization)
    response.writeHead(status).end(body)
  })
  const listen = Effect.async<string>((resume) => {
    http.listen(0, "127.0.0.1", () => {
      resume(Effect.succeed(`http://127.0.0.1:${(http.address() as AddressInfo).port}/v1`))
    })
  })
  return Effect.acquireRelease(listen, () => Effect.sync(() => http.close())).pipe(
    Effect.map((url) => ({ asked, url }))
  )
}

describe("doctor", () => {
  it.effect("the report is valid, and never holds a key", () =>
    Effect.gen(function*() {
      const report = yield* look({
        vars: { ANTHROPIC_API_KEY: secret },
        settings: `{"providers": {"p": {"api_key": "${secret}", "base_url": "http://x.example"}}}`
      })
      assert.isTrue(Schema.is(Schemas.DoctorReport)(report))
      assert.isTrue(report.ok)
      assert.notInclude(JSON.stringify(report), secret)
      assert.notInclude(Doctor.reportText(report, colourless), secret)
      assert.deepEqual(group(report, "models"), [
        ["anthropic", "ok", "usable: a key is set (ANTHROPIC_API_KEY)", null],
        ["p", "ok", "usable: a key is set (settings, providers.p.api_key)", null],
        ["model", "ok", "anthropic/claude-sonnet-4-20250514 is used when none is named", null]
      ])
    }))

  it.effect("no model is a warning with its remedy; broken settings and an old Node are errors", () =>
    Effect.gen(function*() {
      const none = yield* look()
      assert.isTrue(none.ok)
      const [[, status, detail] = []] = group(none, "models")
      assert.deepEqual([status, detail], ["warning", "no provider is configured, no local model server answers"])
      assert.isFalse((yield* look({ settings: "{\"model\": 1}" })).ok)
      const old = yield* look({ node_version: "20.9.0" })
      assert.deepEqual(old.checks.filter((each) => each.status === "error").map((each) => each.name), ["node"])
    }))

  it.effect("settings that are not there are marked so", () =>
    Effect.gen(function*() {
      assert.match(String(group(yield* look(), "settings")[0]?.[2]), /settings\.json \(not there yet\)$/)
    }))

  it.effect("a missing tool is told with its remedy", () =>
    Effect.gen(function*() {
      const report = yield* look({ vars: { PATH: "/nowhere" } })
      const bash = report.checks.find((each) => each.name === "bash")
      assert.strictEqual(bash?.status, "error")
      assert.match(bash?.fix ?? "", /install bash/)
      assert.isFalse(report.ok)
    }))

  it.effect("exit 1 when something that is needed is broken", () =>
    Effect.gen(function*() {
      const out: Array<string> = []
      const code = yield* Effect.provide(
        Doctor.execute({ json: true, directory: undefined, args: [] }),
        layerOf("/nowhere", { settings: "{\"model\": 1}", vars: { PATH: "/nowhere" }, out })
      )
      assert.strictEqual(code, 1)
      assert.isFalse((yield* Schema.decodeUnknown(Schema.parseJson(Schemas.DoctorReport))(out.join(""))).ok)
    }))
})

describe("doctor: models", () => {
  const settings = (base_url: string, more: object = {}): string =>
    JSON.stringify({ model: "local/m", providers: { local: { protocol: "chat", base_url, ...more } } })

  it.scoped("a provider on this machine needs no key: what answers there is told, and no key is sent", () =>
    Effect.gen(function*() {
      const { asked, url } = yield* server(200, "{\"data\": [{\"id\": \"m\"}]}")
      assert.deepEqual(group(yield* look({ settings: settings(url) }), "models"), [
        ["local", "ok", `usable: no key is needed, ${url} answers: m`, null],
        ["model", "ok", "local/m is used when none is named", null]
      ])
      yield* look({ settings: settings(url, { api_key: secret }) })
      assert.deepEqual(asked, ["/v1/models", undefined, "/v1/models", undefined])
    }))

  it.scoped("any answer is an answer", () =>
    Effect.gen(function*() {
      for (const [status, body] of [[404, "no"], [401, "{}"], [200, "<html>"]] as const) {
        const { url } = yield* server(status, body)
        const [first] = group(yield* look({ settings: settings(url) }), "models")
        assert.deepEqual(first, ["local", "ok", `usable: no key is needed, ${url} answers`, null])
      }
    }))

  it.effect("where nothing answers it says so, with the address", () =>
    Effect.gen(function*() {
      const report = yield* look({ settings: settings("http://127.0.0.1:1/v1") })
      assert.deepEqual(group(report, "models"), [
        [
          "local",
          "warning",
          "no key is needed, but nothing answers at http://127.0.0.1:1/v1",
          "start the model server, or correct providers.local.base_url"
        ],
        ["model", "ok", "local/m is used when none is named", null]
      ])
    }))

  it.effect("what cannot be used is told with why and the remedy", () =>
    Effect.gen(function*() {
      const table: ReadonlyArray<readonly [Machine, ReadonlyArray<RegExp>]> = [
        [{ vars: { HANZO_API_KEY: secret } }, [
          /^hanzo$/,
          /^not usable: .* no base URL \(a key is set: HANZO_API_KEY\)$/,
          /^set HANZO_BASE_URL/
        ]],
        [
          { settings: "{\"providers\": {\"p\": {\"base_url\": \"https://x.example\", \"api_key_env\": \"P_KEY\"}}}" },
          [/^p$/, /^not usable: no key for the provider p was found$/, /^set P_KEY/]
        ],
        [
          { settings: `{"providers": {"p": {"base_url": "https://u:${secret}@x.example"}}}` },
          [/^p$/, /^not usable: the address of the provider p cannot be used: /, /base_url/]
        ]
      ]
      for (const [machine, [name, detail, fix]] of table) {
        const report = yield* look(machine)
        const [row] = group(report, "models")
        assert.match(String(row?.[0]), name ?? /^$/)
        assert.match(String(row?.[2]), detail ?? /^$/)
        assert.match(String(row?.[3]), fix ?? /^$/)
        assert.strictEqual(row?.[1], "warning")
        assert.notInclude(JSON.stringify(report), secret)
      }
    }))

  it.scoped("servers that were found are told once", () =>
    Effect.gen(function*() {
      const { url } = yield* server(200, "{\"data\": []}")
      const found = [
        { provider: "ollama", title: "Ollama", base_url: url.slice(0, -3), models: [] },
        { provider: "lmstudio", title: "LM Studio", base_url: "http://127.0.0.1:1234", models: ["a", "b"] }
      ]
      const report = yield* look({ settings: settings(url), servers: found })
      assert.deepEqual(group(report, "models").map(([name, , detail]) => [name, detail]), [
        ["local", `usable: no key is needed, ${url} answers: no models`],
        ["lmstudio", "LM Studio answers at http://127.0.0.1:1234: a, b"],
        ["model", "local/m is used when none is named"]
      ])
    }))
})

describe("doctor: the sandbox", () => {
  const sandbox = (machine: Machine) => Effect.map(look(machine), (report) => group(report, "sandbox")[0])
  const nothing: Available = {
    method: null,
    reason: "bubblewrap.found: bwrap is not installed. To change that: install bubblewrap",
    probes: []
  }

  it.effect("what is enforced, and why it is not more", () =>
    Effect.gen(function*() {
      assert.deepEqual(yield* sandbox({}), [
        "sandbox",
        "ok",
        "mode workspace, enforced through bubblewrap, network shared",
        null
      ])
      assert.deepEqual(yield* sandbox({ available: nothing }), [
        "sandbox",
        "warning",
        "mode workspace: file tools are checked, commands are not held back: bubblewrap.found: bwrap is not installed",
        "install bubblewrap"
      ])
      assert.deepEqual(yield* sandbox({ container: { dockerenv: true } }), [
        "sandbox",
        "warning",
        "off: inside a container (docker, says /.dockerenv)",
        "set sandbox.mode to isolate tools here too"
      ])
      assert.deepEqual(yield* sandbox({ settings: "{\"sandbox\": {\"mode\": \"off\"}}" }), [
        "sandbox",
        "ok",
        "off, as the settings say",
        null
      ])
    }))

  it.effect("a requirement that is not met is an error: no command runs", () =>
    Effect.gen(function*() {
      const settings = "{\"sandbox\": {\"require_enforcement\": true}}"
      const report = yield* look({ settings, available: nothing })
      assert.isFalse(report.ok)
      const [row] = group(report, "sandbox")
      assert.deepEqual([row?.[1], row?.[3]], ["error", "install bubblewrap"])
      assert.match(String(row?.[2]), /^commands do not run: the settings require kernel enforcement/)
    }))
})
