/** What of a program's stderr goes into a message: the line that matters, and the last ones. */
import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import * as LastWords from "../../src/codec/LastWords.ts"

const five = { lines: 5, limit: 500 }

/** As the programs write it. */
const table: ReadonlyArray<readonly [what: string, stderr: string, words: string]> = [
  ["nothing", "", ""],
  ["blank lines alone", "\n  \n\r\n}\n", ""],
  ["one line", "cannot start: KEY missing\n", "cannot start: KEY missing"],
  [
    "node, a module that is not there",
    `node:internal/modules/cjs/loader:1210
  throw err;
  ^

Error: Cannot find module '/w/nofile.js'
    at Module._resolveFilename (node:internal/modules/cjs/loader:1207:15)
    at Module._load (node:internal/modules/cjs/loader:1038:27)
    at Function.executeUserEntryPoint [as runMain] (node:internal/modules/run_main:164:12)
    at node:internal/main/run_main_module:28:49 {
  code: 'MODULE_NOT_FOUND',
  requireStack: []
}

Node.js v20.20.2
`,
    "Error: Cannot find module '/w/nofile.js' \u2026 at node:internal/main/run_main_module:28:49 { | " +
    "code: 'MODULE_NOT_FOUND', | requireStack: [] | Node.js v20.20.2"
  ],
  [
    "node, the properties of an error",
    `node:fs:573
  return binding.open(
                 ^

Error: ENOENT: no such file or directory, open '/no/such'
    at Object.openSync (node:fs:573:18)
    at failed (/w/error.js:1:1) {
  errno: -2,
  code: 'ENOENT',
  syscall: 'open',
  path: '/no/such/error'
}

Node.js v20.20.2
`,
    "Error: ENOENT: no such file or directory, open '/no/such' \u2026 code: 'ENOENT', | syscall: 'open', | " +
    "path: '/no/such/error' | Node.js v20.20.2"
  ],
  [
    "Python, a traceback",
    `Traceback (most recent call last):
  File "/w/a.py", line 3, in <module>
    f()
  File "/w/a.py", line 2, in f
    import mcpx
ModuleNotFoundError: No module named 'mcpx'
`,
    "File \"/w/a.py\", line 3, in <module> | f() | File \"/w/a.py\", line 2, in f | import mcpx | " +
    "ModuleNotFoundError: No module named 'mcpx'"
  ],
  [
    "Rust, a panic",
    `
thread 'main' panicked at p.rs:1:39:
called \`Result::unwrap()\` on an \`Err\` value: Os { code: 2, kind: NotFound, message: "No such file or directory" }
note: run with \`RUST_BACKTRACE=1\` environment variable to display a backtrace
`,
    "thread 'main' panicked at p.rs:1:39: | called `Result::unwrap()` on an `Err` value: Os { code: 2, kind: NotFound, " +
    "message: \"No such file or directory\" } | note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace"
  ],
  [
    "Rust, a panic with its stack: the words of it stand below its place",
    `thread 'main' panicked at p.rs:1:39:
index out of bounds: the len is 1 but the index is 3
stack backtrace:
   0: rust_begin_unwind
             at /rustc/library/std/src/panicking.rs:692:5
   1: core::panicking::panic
             at /rustc/library/core/src/panicking.rs:75:14
   2: p::failed
note: Some details are omitted, run with \`RUST_BACKTRACE=full\` for a verbose backtrace.
`,
    "thread 'main' panicked at p.rs:1:39: | index out of bounds: the len is 1 but the index is 3 \u2026 " +
    "at /rustc/library/core/src/panicking.rs:75:14 | 2: p::failed | " +
    "note: Some details are omitted, run with `RUST_BACKTRACE=full` for a verbose backtrace."
  ],
  [
    "Go, a panic",
    `panic: runtime error: invalid memory address or nil pointer dereference
[signal SIGSEGV: segmentation violation code=0x1 addr=0x0 pc=0x48d3c6]

goroutine 1 [running]:
main.serve(0x0)
\t/w/serve.go:12 +0x6
main.main()
\t/w/main.go:8 +0x1d
exit status 2
`,
    "panic: runtime error: invalid memory address or nil pointer dereference \u2026 /w/serve.go:12 +0x6 | main.main() | " +
    "/w/main.go:8 +0x1d | exit status 2"
  ],
  ["sh, a program that is not there", "sh: 1: nosuchprog: not found\n", "sh: 1: nosuchprog: not found"],
  [
    "npm, a package that is not there",
    `npm ERR! code E404
npm ERR! 404 Not Found - GET https://127.0.0.1/nosuch - Not found
npm ERR! 404 
npm ERR! 404  'nosuch@latest' is not in this registry.
npm ERR! 404 
npm ERR! 404 Note that you can also install from a
npm ERR! 404 tarball, folder, http url, or git folder.

npm ERR! A complete log of this run can be found in:
npm ERR!     /home/x/.npm/_logs/debug-0.log
`,
    "npm ERR! 404 Not Found - GET https://127.0.0.1/nosuch - Not found \u2026 " +
    "npm ERR! 404 Note that you can also install from a | npm ERR! 404 tarball, folder, http url, or git folder. | " +
    "npm ERR! A complete log of this run can be found in: | npm ERR! /home/x/.npm/_logs/debug-0.log"
  ],
  [
    "npm, a later one",
    `npm error Missing script: "nothing"
npm error could not determine executable to run
npm error
npm error To see a list of scripts, run:
npm error   npm run
npm error A complete log of this run can be found in: /home/x/.npm/_logs/debug-0.log
`,
    "npm error could not determine executable to run | npm error | npm error To see a list of scripts, run: | " +
    "npm error npm run | npm error A complete log of this run can be found in: /home/x/.npm/_logs/debug-0.log"
  ],
  ["no fault: the last lines", "1\n2\n3\n4\n5\n6\n7\n", "3 | 4 | 5 | 6 | 7"]
]

describe("LastWords", () => {
  for (const [what, stderr, words] of table) {
    it(`1.5 ${what}`, () => {
      assert.strictEqual(LastWords.of(stderr, five), words)
    })
  }

  it("1.5 lines that are too long take no room from the one that matters", () => {
    const frames = Array.from({ length: 9 }, (_, n) => `    at f${n} (${"x".repeat(200)})`).join("\n")
    const words = LastWords.of(`TypeError: it is not a function\n${frames}\n`, five)
    assert.include(words, "TypeError: it is not a function \u2026 ")
    assert.isAtMost([...words].length, 500)
    // the last line is long: it is cut, not left out
    assert.match(LastWords.of(`${"x".repeat(600)}\n`, five), /^x{499}\u2026$/u)
  })

  it.prop(
    "G8 at most so many lines and code points, safe to show, the fault among them",
    [
      FastCheck.array(FastCheck.string({ unit: "binary", maxLength: 300 }), { maxLength: 12 }),
      FastCheck.array(FastCheck.constantFrom("x", "  at y (z:1:2)", "", "}", "code: 'ERROR',"), { maxLength: 12 })
    ],
    ([before, after]) => {
      const words = LastWords.of([...before, "Fatal: it broke", ...after].join("\n"), five)
      assert.isAtMost([...words].length, 500)
      assert.include(words, "Fatal: it broke")
      assert.notMatch(words, /[\u0000-\u001f\u007f-\u009f]/u)
    }
  )
})
