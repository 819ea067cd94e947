/** Mounts as pure data: what lies over what, and how it is written down. */
import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import { escapeMountPath, mountOf, parseMounts } from "../../src/platform/MountTable.ts"
import { bubblewrapArgv } from "../../src/sandbox/Bubblewrap.ts"
import { isWithin } from "../../src/sandbox/CheckPath.ts"
import { parseGitConfig } from "../../src/sandbox/GitPlaces.ts"
import { isVisible, type Place, plan, type PlanInput } from "../../src/sandbox/Plan.ts"
import { programCandidates } from "../../src/sandbox/Programs.ts"
import { mountTables } from "../../src/sandbox/Unshare.ts"

const directory = (path: string): Place => ({ path, kind: "directory" })
const nothing: PlanInput = { write_roots: [], read_only: [], masked: [], exposed: [], hidden: [], private_tmp: true }
const stepsOf = (input: Partial<PlanInput>): ReadonlyArray<string> =>
  plan({ ...nothing, ...input }).steps.map((step) => `${step.step} ${step.path}`)

/** What finally holds at a path: the last step over it. */
const effective = (input: PlanInput, path: string): string => {
  const made = plan(input)
  const over = made.steps.filter((step) => isWithin(step.path, path)).at(-1)
  return over?.step ?? (made.root_writable ? "writable" : "read_only")
}

describe("10.5 the plan", () => {
  it("parents first; directories above a protected place cannot be moved", () => {
    assert.deepStrictEqual(
      stepsOf({
        write_roots: [directory("/tmp/w"), directory("/data")],
        read_only: [directory("/tmp/w/.git/hooks"), { path: "/tmp/w/a/b/run.sh", kind: "file" }],
        masked: [directory("/tmp/w/.hanzo")],
        hidden: [directory("/home/u/.ssh"), directory("/tmp/other"), directory("/data/keys")]
      }),
      [
        "writable /data",
        "tmpfs /tmp",
        "empty /data/keys",
        "writable /tmp/w",
        "empty /home/u/.ssh",
        "writable /tmp/w/.git",
        "empty /tmp/w/.hanzo",
        "writable /tmp/w/a",
        "read_only /tmp/w/.git/hooks",
        "writable /tmp/w/a/b",
        "read_only /tmp/w/a/b/run.sh"
      ]
    )
  })
  it("/tmp itself as a write root is not made private; / as a write root leaves the root writable", () => {
    assert.deepStrictEqual(stepsOf({ write_roots: [directory("/tmp")] }), ["writable /tmp"])
    const whole = plan({ ...nothing, write_roots: [directory("/")], masked: [directory("/.hanzo")] })
    assert.isTrue(whole.root_writable)
    assert.deepStrictEqual(whole.steps.map((step) => step.step), ["empty"])
  })
  it("what was asked for inside a hidden place is not hidden; a protected place stays so whoever asks", () => {
    assert.deepStrictEqual(
      stepsOf({ write_roots: [directory("/h/.ssh/x")], hidden: [directory("/h/.ssh")], private_tmp: false }),
      ["writable /h/.ssh/x"]
    )
    assert.deepStrictEqual(
      stepsOf({
        write_roots: [directory("/w"), directory("/w/.git/hooks")],
        read_only: [directory("/w/.git/hooks")],
        private_tmp: false
      }),
      ["writable /w", "writable /w/.git", "read_only /w/.git/hooks"]
    )
  })
  it("a directory is visible unless it is hidden or below a private /tmp", () => {
    const made = plan({ ...nothing, write_roots: [directory("/tmp/w")], hidden: [directory("/h/.ssh")] })
    assert.deepStrictEqual(
      ["/tmp/w/a", "/tmp", "/tmp/other", "/h", "/h/.ssh/x", "/usr"].map((path) => isVisible(made, path)),
      [true, true, false, true, false, true]
    )
  })

  const paths = FastCheck.array(FastCheck.constantFrom("a", "b", "tmp", "c"), { minLength: 1, maxLength: 4 })
    .map((parts) => `/${parts.join("/")}`)
  const places = FastCheck.uniqueArray(paths, { maxLength: 4 }).map((all) => all.map(directory))
  const inputs = FastCheck.record({
    write_roots: places,
    read_only: places,
    masked: places,
    exposed: FastCheck.constant([]),
    hidden: places,
    private_tmp: FastCheck.boolean()
  })
  it.prop(
    "a protected place is never writable, nor is anything outside the roots",
    [inputs, paths],
    ([input, path]) => {
      const found = effective(input, path)
      if ([...input.read_only, ...input.masked].some((place) => isWithin(place.path, path))) {
        assert.notStrictEqual(found, "writable", path)
      }
      if (!input.write_roots.some((root) => isWithin(root.path, path))) {
        assert.include(["read_only", "empty", ...(isWithin("/tmp", path) ? ["tmpfs"] : [])], found, path)
      }
    }
  )
  it.prop("a step never comes before one above it, and stands once", [inputs], ([input]) => {
    const { steps } = plan(input)
    steps.forEach((step, index) => {
      for (const later of steps.slice(index + 1)) {
        assert.isFalse(isWithin(later.path, step.path), `${later.path} after ${step.path}`)
      }
    })
  })
})

describe("10.5 bubblewrap", () => {
  it("the flags that the reading names, the command last", () => {
    const argv = bubblewrapArgv("/usr/bin/bwrap", {
      plan: plan({ ...nothing, write_roots: [directory("/w")] }),
      isolate_network: true,
      cwd: "/w",
      env: new Map([["LD_PRELOAD", "x"]]),
      empty_directory: "/e",
      empty_file: "/f",
      kernel_files: ["/proc/sys"],
      filter: null,
      argv: ["sh", "--", "-c"]
    })
    const flags = [
      "--unshare-user",
      "--disable-userns",
      "--unshare-pid",
      "--unshare-ipc",
      "--unshare-uts",
      "--unshare-net",
      "--new-session",
      "--die-with-parent",
      "--dev",
      "--proc"
    ]
    for (const flag of flags) assert.include(argv, flag)
    assert.include(argv.join(" "), "--cap-drop ALL")
    assert.include(
      argv.join(" "),
      "--ro-bind / / --dev /dev --proc /proc --ro-bind /proc/sys /proc/sys --perms 1777 --tmpfs /tmp --bind /w /w"
    )
    assert.deepStrictEqual(argv.slice(-9), ["--setenv", "LD_PRELOAD", "x", "--chdir", "/w", "--", "sh", "--", "-c"])
  })
})

const mountinfo = [
  "22 27 0:21 / /proc rw,relatime - proc proc rw",
  "24 27 0:6 / /dev rw,relatime shared:2 - devtmpfs devtmpfs rw",
  "25 24 0:23 / /dev/shm rw - tmpfs tmpfs rw",
  "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw",
  "30 27 8:1 / /mnt/a\\040b rw,nosuid,noexec,noatime shared:1 master:2 - ext4 /dev/sda1 rw",
  "31 30 8:2 / /mnt/a\\040b/deep ro - ext4 /dev/sdb rw",
  "32 27 8:3 / /mnt rw - tmpfs t rw",
  "33 32 8:4 / /mnt rw - tmpfs t rw",
  "broken"
].join("\n")

describe("the mount table", () => {
  it("paths, options, type; what is covered is not accessible", () => {
    const mounts = parseMounts(mountinfo)
    assert.deepStrictEqual(mounts.map((mount) => [mount.at, mount.type, mount.accessible]), [
      ["/proc", "proc", true],
      ["/dev", "devtmpfs", true],
      ["/dev/shm", "tmpfs", true],
      ["/", "ext4", true],
      ["/mnt/a b", "ext4", false],
      ["/mnt/a b/deep", "ext4", false],
      ["/mnt", "tmpfs", false],
      ["/mnt", "tmpfs", true]
    ])
    assert.strictEqual(mountOf(mounts, "/mnt/a b/x")?.id, 33)
    assert.strictEqual(mountOf(mounts, "/etc")?.id, 27)
  })
  it.prop("a path survives its escapes", [FastCheck.string()], ([name]) => {
    const path = `/${name.replaceAll("\0", "")}`
    const [mount] = parseMounts(`1 0 0:1 / ${escapeMountPath(path)} rw - t s rw`)
    assert.strictEqual(mount?.at, path)
  })
  it("every reachable mount is made read-only with its own flags, but those that are replaced", () => {
    const tables = mountTables(
      plan({ ...nothing, write_roots: [directory("/w x")] }),
      parseMounts(mountinfo.split("\n").slice(0, 6).join("\n")),
      { root: "/new", devices: "/d", empty_directory: "/e", empty_file: "/f" },
      new Set(["/mnt/a b/deep"]),
      ["/proc/sys"]
    )
    const lines = (tables.first + tables.second).split("\n")
    assert.deepStrictEqual(lines.filter((line) => line.includes("remount")), [
      "none /new/proc none remount,bind,nosuid,nodev,relatime,ro 0 0",
      "none /new none remount,bind,nosuid,nodev,relatime,ro 0 0",
      "none /new/mnt/a\\040b none remount,bind,nosuid,nodev,noexec,noatime,ro 0 0"
    ])
    assert.include(lines, "/w\\040x /new/w\\040x none rbind,X-mount.mkdir,nosuid,nodev 0 0")
    assert.strictEqual(tables.writable, "/tmp /w\\040x /mnt/a\\040b/deep")
  })
})

describe("what git and hooks say", () => {
  it("core.hooksPath, core.worktree and includes of a git configuration", () => {
    assert.deepStrictEqual(
      parseGitConfig(
        "# c\n[core]\n\tbare = false\n hooksPath = \"a b\" ; x\n\tHOOKSPATH=c\\\\d\n[Core \"sub\"] x=1\n[include]\npath = ~/i\n" +
          "[includeIf \"gitdir:~/w/\"]\n  path = j\n[core] worktree = ../..\n[other]\nhooksPath = no\n[core]\nhooksPath\n"
      ),
      { hooks_paths: ["a b", "c\\d"], worktrees: ["../.."], includes: ["~/i", "j"] }
    )
  })
  it.prop("any text is read without an error", [FastCheck.string()], ([text]) => {
    parseGitConfig(text)
    programCandidates({ lines: [text], argvs: [[text]] })
  })
  it("words of a command line that may be programs of the workspace", () => {
    const found = programCandidates({
      lines: ["A=./x 'my hook.sh' --flag=./y; \"$HANZO_PROJECT_ROOT\"/z && ./w|sh v"],
      argvs: [["./server", "data"]]
    })
    const texts = found.map((candidate) => candidate.text)
    for (const text of ["./x", "my hook.sh", "./y", "./z", "./w", "v", "./server", "data"]) assert.include(texts, text)
    assert.deepStrictEqual(
      found.filter((candidate) => candidate.sure).map((one) => one.text),
      ["./z", "./w", "./server"]
    )
  })
})
