/**
 * Real escapes under each enforcement, as root and as an ordinary user, and the same without a sandbox as the control:
 * an attempt that fails there too would prove nothing.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { spawn, spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { as, bundle, drive, methods, place, type Reply, users, type World, world } from "./support.ts"

const above = place()
let driver = ""
beforeAll(() => {
  driver = bundle(above)
})
afterAll(() => fs.rmSync(above, { recursive: true, force: true }))

/** Each writes to `$OUT/NAME` if it can; the name is the key. */
const attempts: Readonly<Record<string, string>> = {
  absolute: "echo x > $OUT/absolute",
  dots: "echo x > $W/../outside/dots",
  symlink: "ln -s $OUT l1; echo x > l1/symlink",
  dangling: "ln -s $OUT/dangling l2; echo x > l2",
  parent_link: "mkdir d; ln -s $OUT d/l; mkdir -p d/l/new; echo x > d/l/parent_link",
  proc_root: "echo x > /proc/self/root$OUT/proc_root",
  proc_cwd: "echo x > /proc/self/cwd/../outside/proc_cwd",
  proc_fd: "exec 8<$OUT; echo x > /proc/self/fd/8/proc_fd",
  hard_link: "echo x > $OUT/hard_link_source; ln $OUT/hard_link_source $OUT/hard_link",
  rename: "echo x > mine; mv mine $OUT/rename",
  mkdir: "mkdir $OUT/mkdir",
  inherited: "echo x >&7"
}

/** Each tries to lift what was set up first; without a sandbox they need rights that only root has, or none. */
const liftings: Readonly<Record<string, string>> = {
  remount: "mount -o remount,rw /; mount -o remount,bind,rw /; echo x > $OUT/remount",
  remount_all:
    "for m in $(awk '{print $5}' /proc/self/mountinfo); do mount -o remount,bind,rw $m; done; echo x > $OUT/remount_all",
  umount: "for m in $(awk '{print $5}' /proc/self/mountinfo | sort -r); do umount -l $m; done; echo x > $OUT/umount",
  bind: "mkdir -p b; mount --bind / b; mount -o remount,bind,rw b; echo x > b$OUT/bind",
  nested: "unshare -Urm sh -c 'mount -o remount,bind,rw /; echo x > $OUT/nested'",
  nested_pid: "unshare -Urmpf --mount-proc sh -c 'echo x > /proc/1/root$OUT/nested_pid'",
  proc_one: "for p in /proc/[0-9]*; do echo x > $p/root$OUT/proc_one; done",
  nsenter: "nsenter -t 1 -m -U sh -c 'echo x > $OUT/nsenter'; nsenter -t 1 -m sh -c 'echo x > $OUT/nsenter'",
  chroot: "chroot /proc/1/root sh -c 'echo x > $OUT/chroot'",
  pivot: "mkdir -p p/o; mount --bind p p; pivot_root p p/o; echo x > /o$OUT/pivot"
}

const request = (
  { base, root, outside }: World,
  mode: string,
  method: string,
  commands: ReadonlyArray<string>,
  more: { readonly sandbox?: Record<string, unknown>; readonly settings?: Record<string, unknown> } = {}
) => ({
  base,
  root,
  sandbox: { mode, ...more.sandbox },
  ...(more.settings === undefined ? {} : { settings: more.settings }),
  methods: [method],
  env: { W: root, OUT: outside, HOME: path.join(base, "home"), DRIVER: String(process.pid) },
  commands
})

for (const user of users) {
  describe(`without a sandbox, as ${user.name}`, () => {
    it("every attempt gets out: the control", async () => {
      const at = world(above, `off-${user.uid}`, user.uid)
      const fd = fs.openSync(path.join(at.outside, "inherited"), "w")
      // Descriptor 7 of the driver; what is between is closed in its children too.
      await drive(driver, user.uid, request(at, "off", "unshare", Object.values(attempts)), [fd, fd, fd, fd, fd])
      fs.closeSync(fd)
      const out = new Set(fs.readdirSync(at.outside))
      for (const name of Object.keys(attempts)) assert.isTrue(out.has(name), name)
      // Even here a child inherits nothing beyond its three streams (G5).
      assert.strictEqual(fs.readFileSync(path.join(at.outside, "inherited"), "utf8"), "")
    })
  })

  for (const method of methods) {
    describe(`${method}, as ${user.name}`, () => {
      const open = (name: string, options: { readonly git?: boolean } = {}): World =>
        world(above, `${method}-${user.uid}-${name}`, user.uid, options)

      it("no file gets a set-user-ID or set-group-ID bit, whoever runs it", async () => {
        const at = open("set-id")
        const setting = [
          "cp /bin/sh a && chmod 4755 a",
          "cp /bin/sh b && chmod u+s b",
          "cp /bin/sh c && chmod g+s c",
          "install -m 4755 /bin/sh d; [ -u d ]",
          "cp -p /bin/su e; [ -u e ]",
          "perl -e 'umask 0; use Fcntl; sysopen(F,\"f\",O_CREAT|O_WRONLY,04755) or exit 1'",
          "perl -e 'mkdir \"dir\"; chmod(02755, \"dir\") or exit 1'",
          // By number: mknod, openat2, fchmodat2, and a table of other numbers.
          "perl -e 'exit(syscall(133, \"g\", 0104755, 0) == 0 ? 0 : 1)'",
          "perl -e 'exit(syscall(437, -100, \"h\", pack(\"QQQ\", 0101, 04755, 0), 24) >= 0 ? 0 : 1)'",
          ": > i; perl -e 'exit(syscall(452, -100, \"i\", 04755, 0) == 0 ? 0 : 1)'",
          ": > j; perl -e 'exit(syscall(0x40000000 + 90, \"j\", 04755) == 0 ? 0 : 1)'",
          "perl -e 'exit(syscall(425, 1, \"x\" x 200) >= 0 ? 0 : 1)'"
        ]
        const { answers, status } = await drive(
          driver,
          user.uid,
          request(at, "workspace", method, [
            ...setting,
            "chmod 1755 dir && chmod 755 a && ./a -c 'exit 0' && mkdir -p k/l && install -m 755 /bin/sh k/l/sh && cp -p a m"
          ])
        )
        assert.deepStrictEqual(answers.map((answer) => answer.code === 0), [...setting.map(() => false), true])
        assert.match(answers[0]?.stderr ?? "", /Operation not permitted/)
        const found = spawnSync("find", [at.root, "-perm", "/6000"], { encoding: "utf8" }).stdout
        assert.strictEqual(found, "")
        assert.deepStrictEqual(
          status.probes.filter((probe) => probe.name === `${method}.set_id`).map((one) => one.ok),
          [
            true
          ]
        )
        assert.notInclude(status.warnings.join(), "set-user-ID")
      })

      it("no attempt gets out, and each is told so", async () => {
        const at = open("escapes")
        const tried = { ...attempts, ...liftings }
        const fd = fs.openSync(path.join(at.base, "descriptor"), "w")
        const { answers, status } = await drive(
          driver,
          user.uid,
          request(at, "workspace", method, Object.values(tried)),
          [fd, fd, fd, fd, fd]
        )
        fs.closeSync(fd)
        assert.strictEqual(status.enforcement, method)
        assert.deepStrictEqual(status.probes.filter((probe) => !probe.ok), [])
        assert.deepStrictEqual(fs.readdirSync(at.outside), [])
        assert.strictEqual(fs.readFileSync(path.join(at.base, "descriptor"), "utf8"), "")
        Object.keys(attempts).forEach((name, index) => {
          const answer = answers[index]
          assert.notStrictEqual(answer?.code, 0, name)
          assert.match(
            answer?.stderr ?? "",
            /Read-only file system|Bad file descriptor|Invalid cross-device link/,
            name
          )
        })
      })

      it("devices, kernel files, shared memory and processes outside are out of reach", async () => {
        const at = open("kernel")
        const name = `probe-${process.pid}-${method}-${user.uid}`
        const { answers } = await drive(
          driver,
          user.uid,
          request(at, "workspace", method, [
            "for f in /dev/vda /dev/sda /dev/nvme0n1 /dev/mem /dev/kmsg /dev/fuse /dev/kvm /dev/loop0; do [ -e $f ] && echo $f; done; true",
            "v=$(cat /proc/sys/kernel/printk) && echo \"$v\" > /proc/sys/kernel/printk && echo written",
            "echo h > /proc/sysrq-trigger && echo written",
            "mkdir /sys/fs/cgroup/x /sys/fs/cgroup/cpu/x && echo made",
            `echo x > /dev/shm/${name} && echo private`,
            "[ -e /proc/$DRIVER/status ] && [ $DRIVER -gt 500 ] && echo seen; ls /proc | grep -c '^[0-9]'",
            "kill -9 -1; echo still here",
            "grep -E 'Cap(Prm|Eff|Bnd|Amb)|NoNewPrivs' /proc/self/status",
            "id -u; mknod n b 8 0 && echo made",
            "for s in /run/docker.sock /run/systemd/private; do [ -S $s ] && echo $s; done; ls -A /run/user; ls -A /run/dbus; true",
            "for d in null zero random urandom tty full; do [ -c /dev/$d ] || echo no $d; done; echo x > /dev/null && head -c 3 /dev/urandom | wc -c; echo fd | cat /dev/stdin; (exec 9</dev/ptmx) && echo pty"
          ])
        )
        const [devices, printk, sysrq, cgroup, shm, processes, killed, caps, node, sockets, usable] = answers
        assert.strictEqual(devices?.stdout, "")
        for (const [what, answer] of Object.entries({ printk, sysrq, cgroup })) {
          assert.notInclude(answer?.stdout ?? "", "written", what)
          assert.notInclude(answer?.stdout ?? "", "made", what)
        }
        assert.strictEqual(shm?.stdout, "private\n")
        assert.isFalse(fs.existsSync(`/dev/shm/${name}`))
        assert.notInclude(processes?.stdout ?? "", "seen")
        assert.isBelow(Number(processes?.stdout.trim()), 10)
        assert.isNotNull(killed)
        assert.match(caps?.stdout ?? "", /^CapPrm:\t0+\nCapEff:\t0+\nCapBnd:\t0+\nCapAmb:\t0+\nNoNewPrivs:\t1\n$/)
        assert.strictEqual(node?.stdout, `${user.uid}\n`, "the same user inside, and no device nodes")
        assert.strictEqual(sockets?.stdout, "")
        assert.strictEqual(usable?.stdout, "3\nfd\npty\n", usable?.stderr)
      })

      it("what a command left running ends with it, and with the program", async () => {
        const at = open("processes")
        const late = path.join(at.root, "late")
        const command =
          `for i in 1 2 3; do (sleep 1; echo x >> ${late}) & done; setsid nohup sh -c 'sleep 1; echo y >> ${late}' >/dev/null 2>&1 & disown -a; echo begun`
        const { answers } = await drive(driver, user.uid, request(at, "workspace", method, [command]))
        assert.strictEqual(answers[0]?.stdout, "begun\n")

        // And when the program itself is killed, the command dies with it.
        const beat = path.join(at.root, "beat")
        const [program, args] = as(user.uid, [
          process.execPath,
          driver,
          JSON.stringify(request(at, "workspace", method, [`while :; do echo x >> ${beat}; sleep 0.05; done`]))
        ])
        const child = spawn(program, args, { stdio: "ignore", cwd: "/", env: { PATH: process.env["PATH"] } })
        while (!fs.existsSync(beat)) await new Promise((resolve) => setTimeout(resolve, 20))
        child.kill("SIGKILL")
        await new Promise((resolve) => setTimeout(resolve, 300))
        const size = fs.statSync(beat).size
        await new Promise((resolve) => setTimeout(resolve, 1000))
        assert.strictEqual(fs.statSync(beat).size, size)
        assert.isFalse(fs.existsSync(late))
      })

      it("ordinary work goes on: exit codes, streams, files, git, temporary files, the rest read-only", async () => {
        const at = open("work")
        const { answers, notice } = await drive(
          driver,
          user.uid,
          request(at, "workspace", method, [
            "exit 7",
            "kill -9 $$",
            "echo out; echo err >&2; cat",
            "mkdir -p a/b && echo x > a/b/c && mv a/b/c d && ln d e && rm e && chmod 755 d && ls",
            "git -c user.name=n -c user.email=e commit -q --allow-empty -m one && git checkout -q -b two && git log --format=%s",
            "f=$(mktemp) && echo x > $f && echo $f && ls /tmp | wc -l",
            "head -c 4 /etc/passwd; pwd; echo $HOME",
            "no-such-program",
            "sleep 0.1 & wait; echo waited; (exit 3); echo $?",
            "umask; ulimit -c 0; python3 -c 'print(1)' 2>/dev/null || echo 1"
          ])
        )
        const codes = answers.map((answer) => answer.code)
        assert.deepStrictEqual(codes, [7, 137, 0, 0, 0, 0, 0, 127, 0, 0], JSON.stringify(answers))
        assert.deepStrictEqual([answers[2]?.stdout, answers[2]?.stderr], ["out\n", "err\n"])
        assert.strictEqual(answers[3]?.stdout, "a\nd\n")
        assert.strictEqual(answers[4]?.stdout, "one\n")
        assert.match(answers[5]?.stdout ?? "", /^\/tmp\/.*\n1\n$/)
        assert.strictEqual(answers[6]?.stdout, `root${at.root}\n${path.join(at.base, "home")}\n`)
        assert.include(notice ?? "", at.root)
        assert.deepStrictEqual(fs.readdirSync(at.root).sort(), [".git", "a", "d"], "nothing of ours is left behind")
      })

      it("credential places and the settings directory are empty", async () => {
        const at = open("secrets")
        const { answers } = await drive(
          driver,
          user.uid,
          request(at, "workspace", method, [
            "cat ~/.ssh/id ~/.netrc; ls -A ~/.ssh; cat $W/../config/credentials.json; ls -A $W/../config; true",
            "grep -rs SECRET $W/.. ; true",
            "mv ~/.ssh ~/.ssh2; rm -r ~/.ssh; umount ~/.ssh; cat ~/.ssh2/id; true"
          ])
        )
        for (const answer of answers) assert.notInclude(answer.stdout, "SECRET")
        assert.strictEqual(answers[0]?.stdout, "")
      })

      it("6.10: logins that lie in the workspace, behind a link of the settings directory, are not to be seen", async () => {
        const at = open("linked")
        const logins = path.join(at.base, "config", "credentials.json")
        fs.renameSync(logins, path.join(at.root, "logins.json"))
        fs.symlinkSync(path.join(at.root, "logins.json"), logins)
        const { answers } = await drive(
          driver,
          user.uid,
          request(at, "workspace", method, [
            "cat logins.json; head -c 9 < logins.json; cp logins.json copy; cat copy; true",
            "echo x > logins.json; rm -f logins.json; ln logins.json hard; mv logins.json away; cat hard away; true",
            "grep -rs SECRET . ; true"
          ])
        )
        for (const answer of answers) assert.notInclude(answer.stdout, "SECRET")
        assert.strictEqual(fs.readFileSync(path.join(at.root, "logins.json"), "utf8"), "SECRET")
      })

      it("/tmp is private, the workspace below it is not; without private_tmp there is a TMPDIR", async () => {
        const base = fs.realpathSync(fs.mkdtempSync("/tmp/sandbox-work-"))
        try {
          fs.chmodSync(base, 0o755)
          const at = world(base, "w", user.uid)
          const { answers } = await drive(
            driver,
            user.uid,
            request(at, "workspace", method, [
              "echo x > mine; echo y > /tmp/gone; ls -A /tmp",
              "ls -A /tmp; cat mine",
              "ls $OUT"
            ])
          )
          const top = path.basename(base)
          assert.deepStrictEqual(answers.map((answer) => answer.stdout), [`gone\n${top}\n`, `${top}\nx\n`, ""])
          assert.strictEqual(fs.readFileSync(path.join(at.root, "mine"), "utf8"), "x\n")
          const shared = await drive(
            driver,
            user.uid,
            request(at, "workspace", method, [
              "echo x > /tmp/x",
              "mktemp; ls -A $TMPDIR | wc -l; echo x > $TMPDIR/keep",
              "cat $TMPDIR/keep"
            ], {
              sandbox: { private_tmp: false }
            })
          )
          assert.include(shared.answers[0]?.stderr ?? "", "Read-only file system")
          assert.match(shared.answers[1]?.stdout ?? "", /^\/.*\n1\n$/)
          assert.strictEqual(shared.answers[2]?.stdout, "x\n")
        } finally {
          fs.rmSync(base, { recursive: true, force: true })
        }
      })

      it("odd names: blanks, quotes, hashes, line breaks, option-like", async () => {
        const odd = open("odd #1 'q' \"d\" \\ back\tTab\nline *?[x]")
        const { answers, status } = await drive(
          driver,
          user.uid,
          request(odd, "workspace", method, ["echo x > -rf && cat ./-rf; echo x > .hanzo/y; echo x > \"$OUT/z\"; pwd"])
        )
        assert.strictEqual(status.enforcement, method)
        assert.strictEqual(answers[0]?.stdout, `x\n${odd.root}\n`, answers[0]?.stderr)
        assert.deepStrictEqual(fs.readdirSync(odd.outside), [])
      })

      it("allowlist: several roots, files among them; what is missing is no obstacle", async () => {
        const at = open("list")
        fs.mkdirSync(path.join(at.root, "src"))
        fs.writeFileSync(path.join(at.outside, "one"), "")
        fs.symlinkSync("/nowhere", path.join(at.root, "broken"))
        spawnSync("chown", ["-R", `${user.uid}:${user.uid}`, at.base])
        const { answers, status } = await drive(
          driver,
          user.uid,
          request(at, "allowlist", method, [
            "echo x > src/a; echo x > b; echo x > $OUT/one; echo x > $OUT/two; echo x > broken/c; cat $OUT/one; true"
          ], { sandbox: { allowed_paths: ["src", path.join(at.outside, "one"), "missing", "broken"] } })
        )
        assert.strictEqual(status.write_roots.length, 4)
        assert.strictEqual(answers[0]?.stdout, "x\n")
        assert.deepStrictEqual([fs.readdirSync(at.outside), fs.readdirSync(path.join(at.root, "src"))], [["one"], [
          "a"
        ]])
        assert.isFalse(fs.existsSync(path.join(at.root, "b")))
      })

      it("a loader or shell variable reaches the command, not what sets the sandbox up", async () => {
        const at = open("steering")
        const marker = path.join(at.root, "marker")
        fs.writeFileSync(path.join(at.root, "env.sh"), `id -u >> ${marker}\n`)
        const { answers } = await drive(driver, user.uid, {
          ...request(at, "workspace", method, ["echo $LD_LIBRARY_PATH; echo $PERL5OPT"]),
          env: {
            LD_LIBRARY_PATH: at.root,
            BASH_ENV: path.join(at.root, "env.sh"),
            PERL5OPT: "-w",
            PATH: `${at.root}:${process.env["PATH"] ?? ""}`,
            "BASH_FUNC_mount%%": `() { echo x > ${at.outside}/mount; }`
          }
        })
        assert.strictEqual(answers[0]?.stdout, `${at.root}\n-w\n`)
        assert.strictEqual(fs.readFileSync(marker, "utf8"), `${user.uid}\n`, "once, by the command's own shell")
        assert.deepStrictEqual(fs.readdirSync(at.outside), [])
      })

      it("a link that is swapped all the time: 4,000 writes through it, none outside", async () => {
        const at = open("swap")
        const script = "const fs=require('fs');fs.mkdirSync('in');let n=0;for(let i=0;i<4000;i++){const t='t'+i;" +
          "fs.symlinkSync(i%2?process.env.OUT:'in',t);fs.renameSync(t,'l');try{fs.writeFileSync('l/f'+i%7,'x');n++}catch(e){if(e.code!=='EROFS')throw e}}console.log(n)"
        const { answers } = await drive(
          driver,
          user.uid,
          request(at, "workspace", method, [`${process.execPath} -e "${script}"`])
        )
        assert.strictEqual(answers[0]?.stdout, "2000\n", answers[0]?.stderr)
        assert.deepStrictEqual(fs.readdirSync(at.outside), [])
      })
    })
  }
}

describe("as root where no user namespace can be had", () => {
  it("unshare sets it up with root's own rights and gives them away", { timeout: 60_000 }, async () => {
    if (users[0]?.uid !== 0) return assert.notStrictEqual(users[0]?.uid, 0, "needs root")
    const at = world(above, "as-root", 0)
    const given = {
      ...request(at, "workspace", "", [...Object.values(attempts), ...Object.values(liftings), "echo x > in; cat in"]),
      methods: ["bubblewrap", "unshare", "unshare_root"]
    }
    const run = spawnSync("unshare", [
      "-Urm",
      "--keep-caps",
      "sh",
      "-c",
      "echo 0 > /proc/sys/user/max_user_namespaces; exec \"$@\"",
      "sh",
      process.execPath,
      driver,
      JSON.stringify(given)
    ], { encoding: "utf8", env: { PATH: process.env["PATH"] } })
    assert.strictEqual(run.status, 0, run.stderr)
    const { answers, status } = JSON.parse(run.stdout) as Reply
    assert.strictEqual(status.enforcement, "unshare", JSON.stringify(status))
    assert.include(status.probes.filter((probe) => !probe.ok).map((probe) => probe.name), "unshare.start")
    assert.strictEqual(answers.at(-1)?.stdout, "x\n")
    assert.deepStrictEqual(fs.readdirSync(at.outside), [])
  })
})
