/**
 * A filter of system calls (Linux `seccomp`, classic BPF) under which no file gets a set-user-ID or set-group-ID bit: a
 * sandboxed command that runs as root must not leave a program behind that makes others root. Pure.
 *
 * Refused with EPERM: every call that sets a mode with one of the two bits. Not there (ENOSYS, so that programs take the
 * older way): calls whose mode cannot be seen, `openat2` and rings of requests; calls of other architectures.
 *
 * @since 0.1.0
 */

/** Of a call: where its mode is, and for those that open, where the flags are. */
type Rule = { readonly mode: number; readonly flags?: number } | "absent"

interface Architecture {
  readonly audit: number
  /** Numbers from here on belong to another table. */
  readonly above?: number
  readonly calls: ReadonlyArray<readonly [number: number, rule: Rule]>
}

/** The same numbers everywhere. */
const common: Architecture["calls"] = [[425, "absent"], [437, "absent"], [452, { mode: 2 }]]

const x86_64: Architecture = {
  audit: 0xc000003e,
  above: 0x40000000,
  calls: [
    ...common,
    [2, { mode: 2, flags: 1 }],
    [257, { mode: 3, flags: 2 }],
    [85, { mode: 1 }],
    [90, { mode: 1 }],
    [91, { mode: 1 }],
    [268, { mode: 2 }],
    [133, { mode: 1 }],
    [259, { mode: 2 }]
  ]
}

const old32 = (audit: number, openat: number, mknodat: number, fchmodat: number): Architecture => ({
  audit,
  calls: [
    ...common,
    [5, { mode: 2, flags: 1 }],
    [openat, { mode: 3, flags: 2 }],
    [8, { mode: 1 }],
    [15, { mode: 1 }],
    [94, { mode: 1 }],
    [fchmodat, { mode: 2 }],
    [14, { mode: 1 }],
    [mknodat, { mode: 2 }]
  ]
})

const arm64: Architecture = {
  audit: 0xc00000b7,
  calls: [...common, [56, { mode: 3, flags: 2 }], [52, { mode: 1 }], [53, { mode: 2 }], [33, { mode: 2 }]]
}

/** A machine and what else its kernel runs. */
const machines: Readonly<Record<string, ReadonlyArray<Architecture>>> = {
  x64: [x86_64, old32(0x40000003, 295, 297, 306)],
  arm64: [arm64, old32(0x40000028, 322, 324, 333)]
}

const load = 0x20
const jump_equal = 0x15
const jump_from = 0x35
const jump_set = 0x45
const answer = 0x06

const allow = 0x7fff0000
const not_permitted = 0x00050001
const absent = 0x00050026

const set_id_bits = 0o6000
/** O_CREAT, and the bit of O_TMPFILE of its own: only then a mode is meant. */
const creating = 0x400040

const argument = (index: number): number => 16 + 8 * index

type Instruction = readonly [code: number, when: number, otherwise: number, value: number]

const ruleCode = (rule: Rule): ReadonlyArray<Instruction> => {
  if (rule === "absent") return [[answer, 0, 0, absent]]
  const judge: ReadonlyArray<Instruction> = [
    [load, 0, 0, argument(rule.mode)],
    [jump_set, 0, 1, set_id_bits],
    [answer, 0, 0, not_permitted],
    [answer, 0, 0, allow]
  ]
  return rule.flags === undefined
    ? judge
    : [[load, 0, 0, argument(rule.flags)], [jump_set, 1, 0, creating], [answer, 0, 0, allow], ...judge]
}

const architectureCode = ({ above, calls }: Architecture): ReadonlyArray<Instruction> => [
  [load, 0, 0, 0],
  ...(above === undefined ? [] : [[jump_from, 0, 1, above], [answer, 0, 0, absent]] as const),
  ...calls.flatMap(([number, rule]): ReadonlyArray<Instruction> => {
    const code = ruleCode(rule)
    return [[jump_equal, 0, code.length, number], ...code]
  }),
  [answer, 0, 0, allow]
]

/**
 * For a machine as Node calls it (`process.arch`), as `struct sock_filter`s one after the other; null = its numbers are
 * not known here.
 *
 * @since 0.1.0
 * @category constructors
 */
export const setIdFilter = (machine: string): Uint8Array | null => {
  const architectures = machines[machine]
  if (architectures === undefined) return null
  const code: ReadonlyArray<Instruction> = [
    [load, 0, 0, 4],
    ...architectures.flatMap((architecture): ReadonlyArray<Instruction> => {
      const own = architectureCode(architecture)
      return [[jump_equal, 0, own.length, architecture.audit], ...own]
    }),
    [answer, 0, 0, absent]
  ]
  const bytes = new Uint8Array(code.length * 8)
  const view = new DataView(bytes.buffer)
  code.forEach(([operation, when, otherwise, value], index) => {
    view.setUint16(index * 8, operation, true)
    view.setUint8(index * 8 + 2, when)
    view.setUint8(index * 8 + 3, otherwise)
    view.setUint32(index * 8 + 4, value, true)
  })
  return bytes
}
