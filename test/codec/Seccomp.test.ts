import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import { setIdFilter } from "../../src/codec/Seccomp.ts"

/** Runs a filter as the kernel does. */
const answer = (filter: Uint8Array, call: { arch: number; nr: number; args: ReadonlyArray<number> }): number => {
  const view = new DataView(filter.buffer)
  let accumulator = 0
  for (let at = 0; at * 8 < filter.length; at++) {
    const code = view.getUint16(at * 8, true)
    const value = view.getUint32(at * 8 + 4, true)
    const jump = (holds: boolean): number => view.getUint8(at * 8 + (holds ? 2 : 3))
    if (code === 0x06) return value
    else if (code === 0x20) {
      accumulator = value === 0 ? call.nr : value === 4 ? call.arch : (call.args[(value - 16) / 8] ?? NaN) >>> 0
    } else if (code === 0x15) at += jump(accumulator === value)
    else if (code === 0x35) at += jump(accumulator >= value)
    else if (code === 0x45) at += jump((accumulator & value) !== 0)
    else assert.fail(`instruction ${code}`)
  }
  return assert.fail("the filter has no end")
}

const [allow, eperm, enosys] = [0x7fff0000, 0x50001, 0x50026]
const tables = {
  x64: {
    arch: 0xc000003e,
    open: [2, 1],
    openat: [257, 2],
    chmod: [[90, 1], [91, 1], [268, 2], [452, 2], [85, 1], [133, 1], [259, 2]]
  },
  i386: {
    arch: 0x40000003,
    open: [5, 1],
    openat: [295, 2],
    chmod: [[15, 1], [94, 1], [306, 2], [452, 2], [8, 1], [14, 1], [297, 2]]
  },
  arm64: { arch: 0xc00000b7, open: null, openat: [56, 2], chmod: [[52, 1], [53, 2], [452, 2], [33, 2]] },
  arm: {
    arch: 0x40000028,
    open: [5, 1],
    openat: [322, 2],
    chmod: [[15, 1], [94, 1], [333, 2], [452, 2], [8, 1], [14, 1], [324, 2]]
  }
} as const

describe("a filter against set-user-ID bits", () => {
  for (const [machine, names] of [["x64", ["x64", "i386"]], ["arm64", ["arm64", "arm"]]] as const) {
    const filter = setIdFilter(machine) ?? new Uint8Array()
    for (const name of names) {
      const { arch, chmod, open, openat } = tables[name]
      it.prop(
        `${name}: a mode with one of the bits is refused, any other is not`,
        [FastCheck.nat(0o177777)],
        ([mode]) => {
          const expected = (mode & 0o6000) === 0 ? allow : eperm
          for (const [nr, at] of chmod) {
            const args = [7, 7, 7, 7, 7, 7].with(at, mode)
            assert.strictEqual(answer(filter, { arch, nr, args }), expected, `${nr}`)
          }
          for (const [nr, flags] of open === null ? [openat] : [open, openat]) {
            for (
              const [value, made] of [[0, false], [0o1, false], [0o100, true], [0o102, true], [
                0o20200000,
                true
              ]] as const
            ) {
              const args = [7, 7, 7, 7, 7, 7].with(flags, value).with(flags + 1, mode)
              assert.strictEqual(answer(filter, { arch, nr, args }), made ? expected : allow, `${nr} ${value}`)
            }
          }
        }
      )
      it(`${name}: calls whose mode cannot be seen are not there, others are`, () => {
        const of = (nr: number) => answer(filter, { arch, nr, args: [0o4755, 0o4755, 0o4755, 0o4755, 0o4755, 0o4755] })
        assert.deepStrictEqual([of(437), of(425), of(1), of(600)], [enosys, enosys, allow, allow])
      })
    }
    it(`${machine}: calls of other tables and machines are not there`, () => {
      assert.strictEqual(answer(filter, { arch: 0x16, nr: 1, args: [] }), enosys)
      if (machine === "x64") {
        assert.strictEqual(answer(filter, { arch: 0xc000003e, nr: 0x40000000 + 90, args: [] }), enosys)
      }
    })
  }
  it("machines that are not known have none", () => assert.isNull(setIdFilter("riscv64")))
})
