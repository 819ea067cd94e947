/** `usage`, `/usage` and `/cost`: days of the zone, times of the command line, what has no price. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/TestClock"
import { afterEach, beforeEach } from "vitest"
import { check } from "../../src/cli/Check.ts"
import * as Parser from "../../src/cli/Parser.ts"
import * as Slash from "../../src/cli/slash/Usage.ts"
import * as Spec from "../../src/cli/Spec.ts"
import * as Usage from "../../src/cli/Usage.ts"
import * as UsageReport from "../../src/cli/UsageReport.ts"
import { UsageDocument } from "../../src/cli/UsageSchemas.ts"
import * as UsageText from "../../src/cli/UsageText.ts"
import type { Talk } from "../../src/cli/slash/Slash.ts"
import * as LocalTime from "../../src/platform/LocalTime.ts"
import type { SpendingRow } from "../../src/storage/SessionStore.ts"
import { bench, session } from "./support.ts"

const zones = [
  "UTC",
  "Europe/Berlin",
  "America/New_York",
  "America/Santiago",
  "Asia/Kathmandu",
  "Australia/Lord_Howe",
  "Pacific/Apia",
  "Africa/Cairo"
]

let before: string | undefined
beforeEach(() => {
  before = process.env["TZ"]
})
afterEach(() => {
  if (before === undefined) delete process.env["TZ"]
  else process.env["TZ"] = before
})

const inZone = <A>(zone: string, of: () => A): A => {
  process.env["TZ"] = zone
  return of()
}

const row = (iso: string, more: Partial<SpendingRow> = {}): SpendingRow => ({
  at: Date.parse(iso) / 1000,
  session_id: "ses_1",
  title: null,
  run_id: null,
  turn: 0,
  purpose: "turn",
  model: "p/m",
  requests: 1,
  unreported: 0,
  unpriced: 0,
  usage: { input_tokens: 10, output_tokens: 5, cache_read_tokens: 2, cache_write_tokens: 0 },
  cost_usd: 0.5,
  ...more
})

describe("days of a zone", () => {
  it("a moment counts on the day that its clock shows", () => {
    const late = row("2026-11-30T23:30:00Z")
    const day = (zone: string) => inZone(zone, () => UsageReport.make("day", [late]).groups[0]?.day)
    assert.deepStrictEqual(["UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu"].map(day), [
      "2026-11-30",
      "2026-12-01",
      "2026-11-30",
      "2026-12-01"
    ])
  })

  it("days of 23, 25 and 24.5 hours, and one that begins at one o'clock", () => {
    const hours = (zone: string, day: string) =>
      inZone(zone, () => ((LocalTime.startOfDay(day, 1) ?? 0) - (LocalTime.startOfDay(day) ?? 0)) / 3_600_000)
    assert.strictEqual(hours("Europe/Berlin", "2026-03-29"), 23)
    assert.strictEqual(hours("Europe/Berlin", "2026-10-25"), 25)
    assert.strictEqual(hours("Australia/Lord_Howe", "2026-04-05"), 24.5)
    assert.strictEqual(
      inZone("America/Santiago", () => new Date(LocalTime.startOfDay("2026-09-06") ?? 0).getHours()),
      1
    )
    // the day that Samoa left out
    assert.isNull(inZone("Pacific/Apia", () => LocalTime.startOfDay("2011-12-30")))
  })

  it.prop(
    "every moment lies in its day, and days lie side by side without a gap",
    [FastCheck.constantFrom(...zones), FastCheck.integer({ min: 0, max: 4_000_000_000 })],
    ([zone, seconds]) =>
      inZone(zone, () => {
        const ms = seconds * 1000
        const day = LocalTime.dayOf(ms)
        const start = LocalTime.startOfDay(day)
        const end = LocalTime.startOfDay(day, 1)
        if (start === null || end === null) return assert.fail(`${zone} ${day}`)
        assert.isTrue(start <= ms && ms < end, `${zone} ${day}`)
        assert.strictEqual(LocalTime.startOfDayOf(ms), start)
        assert.strictEqual(LocalTime.dayOf(start), day)
        assert.strictEqual(LocalTime.dayOf(end - 1), day)
        // the record is summed by quarters of an hour: no day begins within one (all zones since 1972)
        if (seconds > 100_000_000) assert.strictEqual(start % 900_000, 0, `${zone} ${day}`)
      })
  )
})

describe("moments of the command line", () => {
  const now = Date.parse("2026-11-30T12:00:00Z")
  const at = (text: string, end = false) => {
    const found = UsageReport.momentOf(text, now, end)
    return found === null ? null : new Date(found).toISOString()
  }

  it("days, words, local times and times with an offset", () => {
    process.env["TZ"] = "Europe/Berlin"
    assert.strictEqual(at("2026-11-30"), "2026-11-29T23:00:00.000Z")
    assert.strictEqual(at("2026-11-30", true), "2026-11-30T23:00:00.000Z")
    assert.strictEqual(at("today"), "2026-11-29T23:00:00.000Z")
    assert.strictEqual(at("yesterday", true), "2026-11-29T23:00:00.000Z")
    assert.strictEqual(at("7d"), "2026-11-23T23:00:00.000Z")
    assert.strictEqual(at("2026-11-30T14:00"), "2026-11-30T13:00:00.000Z")
    assert.strictEqual(at("2026-11-30 14:00:30"), "2026-11-30T13:00:30.000Z")
    assert.strictEqual(at("2026-11-30T14:00+05:30"), "2026-11-30T08:30:00.000Z")
    assert.strictEqual(at("2026-11-30T14:00:00Z"), "2026-11-30T14:00:00.000Z")
  })

  it("what is none", () => {
    for (const text of ["", "0d", "2026-02-30", "2026-13-01", "2026-11-30T25:00", "soon", "12", "2026-11-30T14"]) {
      assert.isNull(UsageReport.momentOf(text, now, false), text)
    }
  })
})

const valuesOf = (argv: ReadonlyArray<string>) => {
  const checked = check(["usage", ...argv])
  if (checked.kind !== "command") throw new Error(JSON.stringify(checked))
  return Parser.parse(Spec.usage, checked.argv)
}

const printed = (argv: ReadonlyArray<string>, spending: ReadonlyArray<SpendingRow>) =>
  Effect.gen(function*() {
    process.env["TZ"] = "UTC"
    yield* TestClock.setTime(Date.parse("2026-11-30T12:00:00Z"))
    const on = bench({ spending, sessions: [session("ses_1")] })
    const code = yield* Effect.provide(Effect.flatMap(valuesOf(argv), Usage.execute), on.layer).pipe(
      Effect.catchAll((exit) => Effect.succeed(exit))
    )
    return { code, out: on.out.join(""), err: on.err.join("") }
  })

const days = [
  row("2026-11-29T10:00:00Z", { requests: 1200, usage: { ...row("2026-11-29").usage, input_tokens: 1_234_567 } }),
  row("2026-11-30T10:00:00Z", { model: "local/qwen", unpriced: 1, cost_usd: 0, purpose: "title" })
]

describe("usage", () => {
  it.effect("a table of days, and what the numbers leave out", () =>
    Effect.gen(function*() {
      const { code, out } = yield* printed([], days)
      assert.strictEqual(code, 0)
      const lines = out.trimEnd().split("\n")
      assert.match(lines[0] ?? "", /^DAY +REQUESTS +INPUT +CACHE READ +CACHE WRITE +OUTPUT +REASONING +COST$/)
      assert.match(lines[1] ?? "", /^2026-11-29 +1,200 +1,234,567 .*\$0\.50/)
      // without a price there is no cost, and never a zero
      assert.match(lines[2] ?? "", /^2026-11-30 .* -$/)
      assert.match(lines[3] ?? "", /^total .*\$0\.50.*\+$/)
      assert.match(out, /1 request in no cost: no price is known of local\/qwen/)
      assert.match(out, /prices: your settings, else the catalogue @tokenlens\/models 1\.3\.0 of 2026-01-22/)
    }))

  it.effect("--json is its schema, by every kind", () =>
    Effect.gen(function*() {
      for (const by of ["turn", "session", "day", "model", "kind"]) {
        const { out } = yield* printed(["--json", "--by", by, "--since", "7d", "--until", "today"], days)
        const document = yield* Schema.decodeUnknown(Schema.parseJson(UsageDocument))(out)
        assert.strictEqual(document.by, by)
        assert.deepInclude(document, {
          since: Date.parse("2026-11-24") / 1000,
          until: Date.parse("2026-12-01") / 1000,
          time_zone: "UTC",
          unpriced_models: ["local/qwen"]
        })
        assert.deepInclude(document.total, { requests: 1201, unpriced_requests: 1, cost_usd: 0.5 })
        assert.deepStrictEqual(document.kinds.map(({ kind }) => kind), ["turn", "title"])
      }
    }))

  it.effect("nothing, a wrong time, an unknown session", () =>
    Effect.gen(function*() {
      const nothing = yield* printed([], [])
      assert.deepStrictEqual([nothing.code, nothing.out], [0, ""])
      assert.match(nothing.err, /no model was used for \/work\/project/)
      assert.deepInclude((yield* printed(["--since", "soon"], days)).code as object, { exit_code: 2 })
      assert.deepInclude((yield* printed(["--since", "today", "--until", "yesterday"], days)).code as object, {
        exit_code: 2
      })
      assert.deepInclude((yield* printed(["--session", "ses_none"], days)).code as object, { exit_code: 2 })
    }))

  it.prop(
    "money: a dash without a price, a plus behind what is not all of it",
    [FastCheck.option(FastCheck.nat(1_000)), FastCheck.nat(3)],
    ([dollars, unpriced_requests]) => {
      const text = UsageText.money({ cost_usd: dollars, unpriced_requests })
      assert.strictEqual(text === "-", dollars === null)
      assert.strictEqual(text.endsWith("+"), dollars !== null && unpriced_requests > 0)
    }
  )

  it("a request without a count of tokens is no question of the price", () => {
    const silent = row("2026-11-30T10:00:00Z", { requests: 2, unreported: 2, unpriced: 2, cost_usd: 0 })
    const unpriced = row("2026-11-30T10:00:00Z", {
      model: "p/other",
      requests: 3,
      unreported: 1,
      unpriced: 3,
      cost_usd: 0
    })
    const priced = UsageReport.make("day", [silent, row("2026-11-30T10:00:00Z")])
    assert.deepStrictEqual(priced.unpriced_models, [])
    assert.strictEqual(UsageText.money(priced.total), "$0.5000+")
    assert.deepStrictEqual(UsageText.remarks(priced), [
      "2 requests in no number and no cost: the provider told no tokens"
    ])
    const [price, number] = UsageText.remarks(UsageReport.make("day", [silent, unpriced]))
    assert.match(price ?? "", /^2 requests in no cost: no price is known of p\/other \(/u)
    assert.match(number ?? "", /^3 requests in no number/u)
  })
})

describe("in the conversation", () => {
  const talking = (settings: string, values: object = {}) => {
    const said: Array<string> = []
    const failures: Array<string> = []
    const on = bench({ spending: days, settings })
    const talk = {
      session: { get: () => "ses_1", set: () => {} },
      values,
      style: { dim: (text: string) => text },
      say: (text: string) => Effect.sync(() => void said.push(text)),
      fail: (text: string) => Effect.sync(() => void failures.push(text))
    } as unknown as Talk
    return { said, failures, talk, layer: on.layer }
  }

  it.effect("/usage by model, and only by what there is", () =>
    Effect.gen(function*() {
      const on = talking("{}")
      yield* Effect.provide(Slash.usage("", on.talk), on.layer)
      assert.match(on.said.join(""), /^MODEL .*\np\/m .*\nlocal\/qwen /)
      yield* Effect.provide(Slash.usage("weather", on.talk), on.layer)
      assert.match(on.failures.join(""), /one of turn, session, day, model, kind/)
    }))

  it.effect("/cost shows the limits with what is spent of them", () =>
    Effect.gen(function*() {
      const on = talking(`{ "limits": { "max_cost_per_session": 2, "max_cost_per_day": 5 } }`, { "max-cost": 1 })
      yield* Effect.provide(Slash.cost("", on.talk), on.layer)
      const text = on.said.join("")
      assert.match(text, /^this session +\$0\.50\S*\+ of \$2\.00\n/)
      assert.match(text, /today, every project +\$0\.50\S*\+ of \$5\.00\n/)
      assert.match(text, /each message at most +\$1\.00\n/)
    }))
})
