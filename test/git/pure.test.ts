import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import { execFileSync } from "node:child_process"
import * as Conventional from "../../src/git/Conventional.ts"
import * as DiffText from "../../src/git/DiffText.ts"
import * as Draft from "../../src/git/Draft.ts"
import * as LikelySecrets from "../../src/git/LikelySecrets.ts"
import * as MessagePrompt from "../../src/git/MessagePrompt.ts"
import * as Names from "../../src/git/Names.ts"
import * as Porcelain from "../../src/git/Porcelain.ts"
import * as Remotes from "../../src/git/Remotes.ts"
import { textOf } from "../../src/domain/MessageParts.ts"

describe("12.0 names of branches", () => {
  it("what git check-ref-format --branch refuses is refused, and what it takes is taken", () => {
    const pieces = ["a", "B", "-", ".", "..", "/", "@", "@{", "{", "~", "^", ":", "?", "*", "[", "\\", " ", "\n", "\t"]
    const more = [
      ".lock",
      "lock",
      "HEAD",
      "\u007f",
      "\u0001",
      "ä",
      "日本",
      "\u{1f600}",
      "refs/heads/",
      "'",
      "\"",
      "$",
      ";"
    ]
    const names = FastCheck.sample(
      FastCheck.array(FastCheck.constantFrom(...pieces, ...more), { minLength: 1, maxLength: 5 }).map((all) =>
        all.join("")
      ),
      { numRuns: 250, seed: 12 }
    )
    for (const name of new Set([...names, "HEAD", "-a", "a.lock", "a.lock/b", "@", "a./b", "/a", "a/"])) {
      let takes = true
      try {
        execFileSync("git", ["check-ref-format", "--branch", name], { stdio: "ignore", cwd: "/" })
      } catch {
        takes = false
      }
      assert.strictEqual(Names.problemOf(name) === null, takes, JSON.stringify(name))
    }
    assert.isNotNull(Names.problemOf(""))
    assert.isNotNull(Names.problemOf("a\0b"))
  })

  it("the directory of a worktree has no slash of the name", () => {
    assert.strictEqual(Names.directoryOf("/x/repo", "feat/a/b"), "/x/repo-feat-a-b")
  })
})

const name = FastCheck.string({ minLength: 1, maxLength: 12, unit: "binary" }).map((text) => text.replaceAll("\0", "0"))

describe("porcelain", () => {
  it.prop("status comes back as it was written, whatever files are called", [
    FastCheck.array(FastCheck.oneof(
      FastCheck.record({
        kind: FastCheck.constant("1" as const),
        path: name,
        staged: FastCheck.constantFrom("M", "A", "D", ".")
      }),
      FastCheck.record({ kind: FastCheck.constant("2" as const), path: name, from: name }),
      FastCheck.record({ kind: FastCheck.constant("u" as const), path: name }),
      FastCheck.record({ kind: FastCheck.constant("?" as const), path: name })
    )),
    FastCheck.option(name.filter((text) => text !== "(detached)"))
  ], ([entries, branch]) => {
    const text = [
      "# branch.oid abc",
      `# branch.head ${branch ?? "(detached)"}`,
      ...entries.flatMap((entry) =>
        entry.kind === "1"
          ? [`1 ${entry.staged}M N... 100644 100644 100644 aaa bbb ${entry.path}`]
          : entry.kind === "2"
          ? [`2 R. N... 100644 100644 100644 aaa bbb R100 ${entry.path}`, entry.from]
          : entry.kind === "u"
          ? [`u UU N... 100644 100644 100644 100644 a b c ${entry.path}`]
          : [`? ${entry.path}`]
      )
    ].map((record) => `${record}\0`).join("")
    const status = Porcelain.parseStatus(text)
    assert.strictEqual(status.head, "abc")
    assert.strictEqual(status.branch, branch)
    assert.deepEqual(
      status.files,
      entries.flatMap((entry): ReadonlyArray<Porcelain.ChangedFile> =>
        entry.kind === "1"
          ? [{ path: entry.path, from: null, staged: entry.staged, unstaged: "M" }]
          : entry.kind === "2"
          ? [{ path: entry.path, from: entry.from, staged: "R", unstaged: "." }]
          : []
      )
    )
    assert.deepEqual(status.unmerged, entries.filter((entry) => entry.kind === "u").map((entry) => entry.path))
    assert.deepEqual(status.untracked, entries.filter((entry) => entry.kind === "?").map((entry) => entry.path))
  })

  it.prop("nothing that is no status breaks the parser", [FastCheck.string({ unit: "binary" })], ([text]) => {
    assert.isArray(Porcelain.parseStatus(text).files)
    assert.isArray(Porcelain.parseWorktrees(text))
    assert.isArray(Porcelain.parseFields(text, 3))
  })

  it("worktrees: bare, detached, locked, gone", () => {
    assert.deepEqual(
      Porcelain.parseWorktrees(
        "worktree /x\0bare\0\0worktree /y\nz\0HEAD abc\0branch refs/heads/a/b\0\0worktree /w\0HEAD d\0detached\0locked why not\0prunable gone\0\0"
      ),
      [
        { path: "/x", head: null, branch: null, bare: true, locked: null, prunable: null },
        { path: "/y\nz", head: "abc", branch: "a/b", bare: false, locked: null, prunable: null },
        { path: "/w", head: "d", branch: null, bare: false, locked: "why not", prunable: "gone" }
      ]
    )
  })

  it("the default branch of a remote", () => {
    assert.strictEqual(Porcelain.parseDefaultBranch("ref: refs/heads/a/main\tHEAD\nabc\tHEAD\n"), "a/main")
    assert.isNull(Porcelain.parseDefaultBranch("abc\tHEAD\n"))
  })
})

describe("12 messages", () => {
  it("type(scope)!: subject, 72 characters", () => {
    const good = ["fix: a", "feat(cli): b", "feat(a b)!: c", "chore!: d\n\nbody", `docs: ${"ä".repeat(66)}`, "fix: a\n"]
    const bad = [
      "",
      "fix",
      "fix:a",
      "fix : a",
      "fix(): a",
      "Fix a bug",
      "note: a",
      "fix: ",
      `docs: ${"a".repeat(67)}`,
      "fix: a\nbody"
    ]
    for (const message of good) assert.isNull(Conventional.problemOf(message), message)
    for (const message of bad) assert.isNotNull(Conventional.problemOf(message), message)
  })

  it("the message in an answer: fences, chatter, quotes", () => {
    for (
      const answer of [
        "fix: a thing\n\nwhy",
        "```\nfix: a thing\n\nwhy\n```",
        "Here is it:\n\n```text\nfix: a thing\n\nwhy\n```\nEnjoy!",
        "Sure! The message:\nfix: a thing\r\n\r\n\r\n\r\nwhy  \n"
      ]
    ) assert.strictEqual(Conventional.fromAnswer(answer), "fix: a thing\n\nwhy", answer)
    assert.strictEqual(Conventional.fromAnswer("\"fix: a thing\""), "fix: a thing")
    assert.strictEqual(Conventional.fromAnswer("`fix: a thing`"), "fix: a thing")
    assert.strictEqual(
      Conventional.fromAnswer(
        "fix: \u001b[2Ja\u009b\u0007 \u202ething\u2069\u0000\n\n\tit\u007f is \u{1f469}\u200d\u{1f52c} 日本"
      ),
      "fix: [2Ja thing\n\n\tit is \u{1f469}\u200d\u{1f52c} 日本"
    )
  })

  it.prop("a valid message is its own answer", [
    FastCheck.constantFrom(...Conventional.types),
    FastCheck.stringMatching(/^[a-z][a-z ]{0,40}[a-z]$/)
  ], ([type, subject]) => {
    const message = `${type}: ${subject}`
    assert.strictEqual(Conventional.fromAnswer(message), message)
    assert.isNull(Conventional.problemOf(message))
  })

  it.prop("a draft always has the form", [
    FastCheck.array(
      FastCheck.record({
        path: name,
        from: FastCheck.constant(null),
        staged: FastCheck.constantFrom("A", "M", "D", "R"),
        unstaged: FastCheck.constant(".")
      }),
      { minLength: 1 }
    )
  ], ([files]) => {
    assert.isNull(Conventional.problemOf(Draft.neutral(files)), Draft.neutral(files))
  })

  it("what stands above the scissors is the message", () => {
    assert.strictEqual(
      Conventional.aboveScissors(`fix: a\n\n# kept\n${Conventional.scissors}\n# not kept\n`),
      "fix: a\n\n# kept"
    )
  })

  it("a long diff is told by its sizes, and known secrets are not sent", () => {
    const clean = (text: string): string => text.replaceAll("hunter22", "[redacted]")
    const small = MessagePrompt.messages(
      { branch: "b", subjects: ["fix: x"], diff: "+pass hunter22\n", stat: "a | 1 +" },
      clean,
      null
    )
    assert.include(textOf(small[1] ?? { role: "user", content: "" }), "+pass [redacted]")
    const long = MessagePrompt.messages(
      { branch: null, subjects: [], diff: "+x\n".repeat(40_000), stat: "a | 40000 +" },
      clean,
      { answer: "no", problem: "bad" }
    )
    const text = textOf(long[1] ?? { role: "user", content: "" })
    assert.include(text, "too long to show (120000 bytes)")
    assert.include(text, "a | 40000 +")
    assert.notInclude(text, "+x\n+x")
    assert.deepEqual(long.map((message) => message.role), ["system", "user", "assistant", "user"])
    // an empty text is no legal message
    assert.strictEqual(
      MessagePrompt.messages({ branch: null, subjects: [], diff: "", stat: "" }, clean, { answer: " ", problem: "x" })
        .length,
      2
    )
  })
})

describe("texts within a limit", () => {
  it.prop("never longer than the limit and its line, never half a character, the cut is seen", [
    FastCheck.string({ unit: "grapheme", maxLength: 300 }),
    FastCheck.integer({ min: 1, max: 200 })
  ], ([text, most]) => {
    const bytes = new TextEncoder().encode(text).length
    const made = DiffText.cut(text, most)
    assert.strictEqual(made.cut, bytes > most)
    if (!made.cut) return assert.strictEqual(made.text, text)
    const at = made.text.lastIndexOf("[cut here: ")
    assert.isAtLeast(at, 0)
    const kept = made.text.slice(0, at)
    assert.isAtMost(new TextEncoder().encode(kept).length, most + 1)
    assert.isTrue(text.startsWith(kept.endsWith("\n") && !text.startsWith(kept) ? kept.slice(0, -1) : kept))
  })

  it("a fence that the text cannot close", () => {
    assert.strictEqual(DiffText.fence("a"), "```")
    assert.strictEqual(DiffText.fence("a ```` b"), "`````")
  })
})

describe("likely secrets", () => {
  it("lines", () => {
    const secret = [
      "-----BEGIN OPENSSH PRIVATE KEY-----",
      "aws = AKIAIOSFODNN7EXAMPLE",
      "GH=ghp_0123456789abcdefghijABCDEFGHIJ",
      "password = \"tr0ub4dor&3\"",
      "\"api_key\": \"f81d4fae7dec11d0a76500a0c91e6bf6\"",
      "API_TOKEN=9f86d081884c7d659a2feaa0c55ad015",
      "SECRET_KEY = 'django-insecure-8f!q2x1c7z'",
      "secretKey: \"f81d4fae7dec11d0\"",
      "export ENCRYPTION_KEY=9f86d081884c7d659a2feaa0c55ad015",
      "url = postgres://me:s3cret@db/x"
    ]
    const harmless = [
      "const password = readPassword()",
      "password: process.env.PASSWORD",
      "token = options.token",
      "API_KEY=${API_KEY}",
      "api_key: <your key>",
      "secret = null",
      "password = \"changeme\"",
      "the token is read from the file",
      "git clone https://host/x.git",
      "password: string",
      "signingKey: CryptoKey",
      "SECRET_KEY = os.environ[\"SECRET_KEY\"]",
      "const primaryKey = \"id_of_a_table_2\"",
      "tokenizer = AutoTokenizer"
    ]
    for (const line of secret) assert.isNotNull(LikelySecrets.inLine(line), line)
    for (const line of harmless) assert.isNull(LikelySecrets.inLine(line), line)
  })

  it("of a diff: added lines with their place, never a removed one, never a value", () => {
    const diff = [
      "diff --git a/x y.txt b/x y.txt",
      "--- a/x y.txt",
      "+++ b/x y.txt\t",
      "@@ -1,3 +1,4 @@",
      " a",
      "-password = \"tr0ub4dor&3\"",
      "+++ b/none password = \"tr0ub4dor&4\"",
      "+AKIAIOSFODNN7EXAMPLE",
      " b",
      "diff --git \"a/\\303\\244\" \"b/\\303\\244\"",
      "new file mode 100644",
      "--- /dev/null",
      "+++ \"b/\\303\\244\"",
      "@@ -0,0 +1 @@",
      "+-----BEGIN PRIVATE KEY-----",
      "\\ No newline at end of file",
      ""
    ].join("\n")
    const found = LikelySecrets.inDiff(diff)
    assert.deepEqual(found.map(({ line, path }) => [path, line]), [["x y.txt", 2], ["x y.txt", 3], ["ä", 1]])
    assert.notInclude(JSON.stringify(found), "tr0ub4dor")
  })

  it("of the combined diff of a merge: what none of its parents has; a cut end is a finding", () => {
    const diff = [
      "diff --cc a.txt",
      "index 1,2..3",
      "--- a/a.txt",
      "+++ b/a.txt",
      "@@@ -1,3 -1,3 +1,4 @@@",
      "  a",
      "- AKIAIOSFODNN7EXAMPLE",
      " -AKIAIOSFODNN7EXAMPLE",
      "+ AKIAIOSFODNN7EXAMPL1",
      "++AKIAIOSFODNN7EXAMPL2",
      " +AKIAIOSFODNN7EXAMPL3",
      "diff --git a/b.txt b/b.txt",
      "--- a/b.txt",
      "+++ b/b.txt",
      "@@ -1 +1,2 @@",
      " a",
      "+AKIAIOSFODNN7EXAMPL4",
      ""
    ].join("\n")
    const places = (options: LikelySecrets.DiffOptions) =>
      LikelySecrets.inDiff(diff, options).map(({ line, path }) => [path, line])
    assert.deepEqual(places({}), [["a.txt", 3], ["b.txt", 2]])
    assert.deepEqual(places({ cut: true }), [["a.txt", 3], ["b.txt", 2], ["b.txt", null]])
    assert.deepEqual(places({ most: 1, cut: true }), [["a.txt", 3]])
  })

  it("of names", () => {
    assert.deepEqual(
      LikelySecrets.inNames([
        ".env",
        "a/.env.production",
        ".env.example",
        "id_rsa",
        "x/server.pem",
        "a.ts",
        "env.ts",
        "x/sample.env",
        "x/prod.env",
        ".env.my laptop",
        "my\nkéy.p12",
        "service-account ü.json",
        "pem"
      ])
        .map((
          one
        ) => one.path),
      [
        ".env",
        "a/.env.production",
        "id_rsa",
        "x/server.pem",
        "x/prod.env",
        ".env.my laptop",
        "my\nkéy.p12",
        "service-account ü.json"
      ]
    )
  })

  it("what goes to a model is without them", () => {
    const text = LikelySecrets.withoutIn(
      "+password = \"tr0ub4dor&3\"\n+-----BEGIN RSA PRIVATE KEY-----\n+MIIabc\n+-----END RSA PRIVATE KEY-----\n+x\n AKIAIOSFODNN7EXAMPLE"
    )
    assert.strictEqual(text, "+password = \"[redacted]\"\n+[redacted]\n+[redacted]\n+[redacted]\n+x\n [redacted]")
  })
})

describe("remotes", () => {
  it("compare addresses without user and password", () => {
    const table: ReadonlyArray<readonly [string, string | null]> = [
      ["https://user:token@github.com/o/r.git", "https://github.com/o/r/compare/main...f/%C3%A4?expand=1"],
      ["git@github.com:o/r.git", "https://github.com/o/r/compare/main...f/%C3%A4?expand=1"],
      ["ssh://git@ssh.github.com:443/o/r.git", "https://github.com/o/r/compare/main...f/%C3%A4?expand=1"],
      [
        "https://x@github.example.com:8443/o/r/",
        "https://github.example.com:8443/o/r/compare/main...f/%C3%A4?expand=1"
      ],
      [
        "git@gitlab.com:g/s/r.git",
        "https://gitlab.com/g/s/r/-/merge_requests/new?merge_request%5Bsource_branch%5D=f%2F%C3%A4&merge_request%5Btarget_branch%5D=main"
      ],
      ["https://me@bitbucket.org/o/r.git", "https://bitbucket.org/o/r/pull-requests/new?source=f%2F%C3%A4&dest=main"],
      ["https://git.example.com/o/r.git", null],
      ["/srv/git/r.git", null],
      ["../r.git", null],
      ["C:\\x\\r.git", null],
      ["file:///srv/github.com/o/r.git", null]
    ]
    for (const [address, expected] of table) {
      assert.strictEqual(Remotes.compareAddress(address, "f/ä", "main"), expected, address)
    }
  })

  it("no user and password in what is shown", () => {
    assert.strictEqual(
      Remotes.withoutUser("fatal: unable to access 'https://me:p@ss@host/x.git/': no"),
      "fatal: unable to access 'https://host/x.git/': no"
    )
    assert.strictEqual(Remotes.withoutUser("git@host:x"), "git@host:x")
  })

  it("the pull request of this branch is none of a fork that has a branch of the same name", () => {
    const one = (number: number, owner: unknown) => ({
      url: `https://github.com/o/r/pull/${number}`,
      ...(owner === undefined ? {} : { headRepositoryOwner: owner })
    })
    const table: ReadonlyArray<readonly [ReadonlyArray<unknown>, string, number | null]> = [
      [[one(1, { login: "else" }), one(2, { login: "O" })], "git@github.com:o/r.git", 2],
      [[one(1, { login: "else" }), one(3, null)], "https://t:x@github.com/o/r", null],
      [[one(1, { login: "me" })], "ssh://git@github.com/me/r.git", 1],
      [[one(1, { login: "else" })], "/srv/r.git", 1],
      [[one(1, undefined)], "git@github.com:o/r.git", 1],
      [[], "git@github.com:o/r.git", null]
    ]
    for (const [listed, address, number] of table) {
      assert.strictEqual(
        Remotes.ownPullRequest(JSON.stringify(listed), address),
        number === null ? null : `https://github.com/o/r/pull/${number}`,
        JSON.stringify([listed, address])
      )
    }
    for (const odd of ["", "no", "{}", "[1]", "[{\"url\":1}]", "[{\"url\":\"javascript:1\"}]"]) {
      assert.isNull(Remotes.ownPullRequest(odd, "/srv/r.git"), odd)
    }
  })

  it("the address of a pull request", () => {
    assert.strictEqual(Remotes.pullRequestIn("x\nhttps://github.com/o/r/pull/7\n"), "https://github.com/o/r/pull/7")
    assert.isNull(Remotes.pullRequestIn("[]"))
  })
})
