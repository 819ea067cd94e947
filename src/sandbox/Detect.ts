/**
 * Are we inside a container already? HIP-301 section 10, `detect_container`: four places looked at in order, the first
 * hit decides (reading 10.6).
 *
 * @since 0.1.0
 */
import * as FileSystem from "@effect/platform/FileSystem"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Layers from "../domain/Layers.ts"
import { Environment, variable } from "../platform/Environment.ts"

/** What the four places hold. @since 0.1.0 @category models */
export interface ContainerProbes {
  /** Text of `/proc/1/cgroup`; null = not readable. */
  readonly cgroup: string | null
  /** `/.dockerenv` exists. */
  readonly dockerenv: boolean
  /** `/run/.containerenv` exists. */
  readonly containerenv: boolean
  /** `KUBERNETES_SERVICE_HOST`; null = not set. */
  readonly kubernetes_service_host: string | null
}

/** @since 0.1.0 @category models */
export type ContainerKind = "docker" | "podman" | "k8s"

/** `probe` is the place that said so. @since 0.1.0 @category models */
export interface FoundContainer {
  readonly kind: ContainerKind
  readonly probe: string
}

/** Path part of a cgroup line: `4:cpu:/docker/abc` or `0::/kubepods.slice/...`. */
const cgroupKind = (text: string): ContainerKind | null => {
  const paths = text.split("\n").map((line) => line.split(":").slice(2).join(":"))
  const says = (...words: ReadonlyArray<string>): boolean =>
    paths.some((path) => words.some((word) => path.includes(word)))
  return says("kubepods", "cri-containerd")
    ? "k8s"
    : says("libpod", "podman")
    ? "podman"
    : says("docker")
    ? "docker"
    : null
}

/** @since 0.1.0 @category combinators */
export const detectContainer = (probes: ContainerProbes): FoundContainer | null => {
  const cgroup = probes.cgroup === null ? null : cgroupKind(probes.cgroup)
  if (cgroup !== null) return { kind: cgroup, probe: "/proc/1/cgroup" }
  if (probes.dockerenv) return { kind: "docker", probe: "/.dockerenv" }
  if (probes.containerenv) return { kind: "podman", probe: "/run/.containerenv" }
  const host = probes.kubernetes_service_host
  return host === null || host === "" ? null : { kind: "k8s", probe: "KUBERNETES_SERVICE_HOST" }
}

/** @since 0.1.0 @category models */
export interface ContainerService {
  readonly found: FoundContainer | null
}

/** Looked at once a process. @since 0.1.0 @category services */
export class Container extends Context.Tag("@hanzo/dev/sandbox/Container")<Container, ContainerService>() {
  static readonly layer: Layer.Layer<Container, never, FileSystem.FileSystem | Environment> = Layers.effect(
    Container,
    Effect.gen(function*() {
      const fs = yield* FileSystem.FileSystem
      const environment = yield* Environment
      const exists = (file: string): Effect.Effect<boolean> => Effect.orElseSucceed(fs.exists(file), () => false)
      const probes: ContainerProbes = {
        cgroup: yield* Effect.orElseSucceed(fs.readFileString("/proc/1/cgroup"), () => null),
        dockerenv: yield* exists("/.dockerenv"),
        containerenv: yield* exists("/run/.containerenv"),
        kubernetes_service_host: variable(environment, "KUBERNETES_SERVICE_HOST") ?? null
      }
      return { found: detectContainer(probes) }
    })
  )

  /** What these probes say, whatever the machine is. */
  static readonly layerProbes = (probes: Partial<ContainerProbes>): Layer.Layer<Container> =>
    Layers.succeed(Container, {
      found: detectContainer({
        cgroup: null,
        dockerenv: false,
        containerenv: false,
        kubernetes_service_host: null,
        ...probes
      })
    })
}
