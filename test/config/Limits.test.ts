/** Limits of spending over all tiers, and whose telemetry counts. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import { merge } from "../../src/config/Merge.ts"
import { masked } from "../../src/config/Secrets.ts"
import * as Tiers from "../../src/config/Tiers.ts"
import { inPlace } from "./support.ts"

const of = (limits: unknown): string => JSON.stringify({ limits })

const day = (...texts: readonly [user: string, project: string, local: string]) => {
  const { config, origins } = merge([
    Tiers.defaults,
    Tiers.fromText("user", "/u", texts[0]),
    Tiers.fromText("project", "/p", texts[1]),
    Tiers.fromText("local", "/l", texts[2])
  ])
  return { limit: config.limits.max_cost_per_day, origin: origins.get("limits.max_cost_per_day") }
}

describe("limits", () => {
  it("a checkout can lower a limit, and not raise, empty or remove it", () => {
    const user = of({ max_cost_per_day: 5 })
    assert.deepStrictEqual(day(user, of({ max_cost_per_day: 2 }), "{}"), { limit: 2, origin: "project" })
    for (
      const project of [
        of({ max_cost_per_day: 500 }),
        of({ max_cost_per_day: null }),
        of({ max_cost_per_day: "500" }),
        of({ max_cost_per_day: -1 }),
        of({}),
        of(null),
        of([]),
        of(7)
      ]
    ) {
      assert.deepStrictEqual(day(user, project, "{}"), { limit: 5, origin: "user" }, project)
    }
  })

  const amount = FastCheck.option(FastCheck.double({ min: 0, max: 1000, noNaN: true }), { nil: undefined })
  it.prop("the lowest of all tiers counts, whoever sets it", [amount, amount, amount], ([user, project, local]) => {
    const given = [user, project, local].filter((each) => each !== undefined)
    const { limit } = day(
      of({ max_cost_per_day: user }),
      of({ max_cost_per_day: project }),
      of({ max_cost_per_day: local })
    )
    assert.strictEqual(limit, given.length === 0 ? undefined : Math.min(...given))
  })

  it.effect("managed settings may hold limits, and say where telemetry goes", () =>
    inPlace((place) =>
      Effect.gen(function*() {
        yield* place.write(
          place.user,
          JSON.stringify({ limits: { max_cost_per_day: 50 }, telemetry: { endpoint: "http://u" } })
        )
        yield* place.write(
          place.managed,
          JSON.stringify({ limits: { max_cost_per_day: 20 }, telemetry: { endpoint: "http://m" }, model: "no" })
        )
        const { config, errors, origins, warnings } = yield* place.load()
        assert.deepStrictEqual(errors, [])
        assert.strictEqual(config.limits.max_cost_per_day, 20)
        assert.strictEqual(config.telemetry.endpoint, "http://m")
        assert.strictEqual(origins.get("telemetry.endpoint"), "managed")
        assert.notStrictEqual(config.model, "no")
        assert.deepStrictEqual(warnings.map(({ code }) => code), ["managed_not_deny"])
      })
    ))

  it.effect("a project's telemetry is left out, with a warning, also when it is trusted", () =>
    inPlace((place) =>
      Effect.gen(function*() {
        yield* place.write(place.user, JSON.stringify({ telemetry: { endpoint: "http://u" } }))
        yield* place.write(
          place.project,
          JSON.stringify({ telemetry: { endpoint: "http://evil", capture_content: true } })
        )
        yield* place.write(place.local, JSON.stringify({ telemetry: { headers: { a: "b" } } }))
        const { config, warnings } = yield* place.load({ trust: "all" })
        assert.deepStrictEqual(JSON.parse(JSON.stringify(config.telemetry)), { endpoint: "http://u" })
        assert.deepStrictEqual(warnings.map(({ code, key }) => [code, key]), [
          ["sensitive_ignored", "telemetry"],
          ["sensitive_ignored", "telemetry"]
        ])
      })
    ))

  it("G2 headers of telemetry are shown as what they are: secrets", () => {
    const shown = JSON.stringify(
      masked(
        { telemetry: { endpoint: "https://u:secret-p@host/x", headers: { "x-team": "secret-h" } } },
        [],
        () => "***"
      )
    )
    assert.notInclude(shown, "secret-")
    assert.include(shown, "host/x")
  })
})
