import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { Config } from "../../src/config/Config.ts"
import { Environment } from "../../src/platform/Environment.ts"
import { Container, type ContainerProbes, detectContainer } from "../../src/sandbox/Detect.ts"
import { settle } from "../../src/sandbox/Settings.ts"

const nothing: ContainerProbes = { cgroup: null, dockerenv: false, containerenv: false, kubernetes_service_host: null }

describe("10.6 detect_container", () => {
  const rows: ReadonlyArray<readonly [string, Partial<ContainerProbes>, string | null]> = [
    ["nothing", {}, null],
    ["a bare cgroup v2 line", { cgroup: "0::/\n" }, null],
    ["a service that is named like nothing", { cgroup: "0::/init.scope\n" }, null],
    ["docker, cgroup v1", { cgroup: "12:cpu:/docker/3f1a\n11:memory:/docker/3f1a\n" }, "docker /proc/1/cgroup"],
    ["docker, systemd", { cgroup: "0::/system.slice/docker-3f1a.scope\n" }, "docker /proc/1/cgroup"],
    ["podman", { cgroup: "0::/machine.slice/libpod-3f1a.scope\n" }, "podman /proc/1/cgroup"],
    ["kubernetes over docker", { cgroup: "4:cpu:/kubepods/besteffort/pod1/docker-2\n" }, "k8s /proc/1/cgroup"],
    ["containerd", { cgroup: "0::/system.slice/cri-containerd-3f1a.scope\n" }, "k8s /proc/1/cgroup"],
    ["a controller named docker is no path", { cgroup: "1:docker:/\n" }, null],
    ["/.dockerenv", { cgroup: "0::/\n", dockerenv: true }, "docker /.dockerenv"],
    ["/run/.containerenv", { containerenv: true }, "podman /run/.containerenv"],
    ["both files: the first place decides", { dockerenv: true, containerenv: true }, "docker /.dockerenv"],
    ["the variable", { kubernetes_service_host: "10.0.0.1" }, "k8s KUBERNETES_SERVICE_HOST"],
    ["an empty variable", { kubernetes_service_host: "" }, null],
    ["the cgroup before all", {
      cgroup: "0::/libpod-1\n",
      dockerenv: true,
      kubernetes_service_host: "x"
    }, "podman /proc/1/cgroup"]
  ]
  for (const [name, probes, expected] of rows) {
    it(name, () => {
      const found = detectContainer({ ...nothing, ...probes })
      assert.strictEqual(found === null ? null : `${found.kind} ${found.probe}`, expected)
    })
  }

  it.effect("the layer reads the variable of the environment it is given", () =>
    Effect.gen(function*() {
      const { found } = yield* Container
      assert.isNotNull(found)
    }).pipe(Effect.provide(Layer.provide(
      Container.layer,
      Layer.merge(NodeFileSystem.layer, Environment.layerTest({ vars: { KUBERNETES_SERVICE_HOST: "10.0.0.1" } }))
    ))))
})

describe("10.1 the mode", () => {
  const docker = { kind: "docker", probe: "/.dockerenv" } as const
  it("none set: workspace, or off inside a container, with the probe that said so", () => {
    assert.strictEqual(settle({}, null).mode, "workspace")
    const inside = settle({}, docker)
    assert.deepStrictEqual([inside.requested_mode, inside.mode], [null, "off"])
    assert.include(inside.reason ?? "", "/.dockerenv")
  })
  it("a mode that is set is always kept, other spellings too", () => {
    assert.strictEqual(settle({ mode: "workspace-only" }, docker).mode, "workspace")
    assert.strictEqual(settle({ mode: "allow-list" }, docker).mode, "allowlist")
    assert.strictEqual(settle({ mode: "off" }, null).mode, "off")
    assert.isNull(settle({ mode: "workspace" }, docker).reason)
  })
  it("allowed_paths in another mode are a warning and count for nothing", () => {
    const settled = settle({ mode: "workspace", allowed_paths: ["/data"] }, null)
    assert.deepStrictEqual([settled.allowed_paths, settled.warnings.length], [[], 1])
    assert.deepStrictEqual(settle({ mode: "allowlist", allowed_paths: ["/data"] }, null).warnings, [])
  })
  it("defaults of HIP-301 and the readings", () => {
    const { network, private_tmp, require_enforcement, deny_hard_linked_writes } = settle({}, null)
    assert.deepStrictEqual([network, private_tmp, require_enforcement, deny_hard_linked_writes], [
      "on",
      true,
      false,
      false
    ])
  })

  const settings = (text: string) =>
    Effect.map(Config, ({ config, errors, warnings }) => ({ sandbox: config.sandbox, errors, warnings })).pipe(
      Effect.provide(Config.layerText(text))
    )
  it.effect("the settings file is checked, with the place of what is wrong", () =>
    Effect.gen(function*() {
      const good = yield* settings(
        `{"sandbox": {"mode": "allow-list", "allowed_paths": ["."], "network": {"allow": ["a.example"]}, "privateTmp": false}}`
      )
      assert.deepStrictEqual([good.errors, good.warnings], [[], []])
      assert.deepStrictEqual(
        JSON.parse(JSON.stringify(good.sandbox)),
        { mode: "allow-list", allowed_paths: ["."], network: { allow: ["a.example"] }, private_tmp: false }
      )
      for (
        const [text, key] of [
          [`{"sandbox": {"mode": "WORKSPACE"}}`, "sandbox.mode"],
          [`{"sandbox": {"network": "none"}}`, "sandbox.network"],
          [`{"sandbox": {"network": {"allow": [1]}}}`, "sandbox.network.allow.0"],
          [`{"sandbox": {"allowed_paths": "/data"}}`, "sandbox.allowed_paths"],
          [`{"sandbox": {"require_enforcement": "true"}}`, "sandbox.require_enforcement"]
        ] as const
      ) {
        const bad = yield* settings(text)
        assert.deepStrictEqual(bad.errors.map((issue) => issue.key), [key], text)
      }
      assert.deepStrictEqual((yield* settings(`{"sandbox": {"mod": "off"}}`)).warnings.map((issue) => issue.code), [
        "unknown_key"
      ])
    }))
})
