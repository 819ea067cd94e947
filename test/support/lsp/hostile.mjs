// A language server for tests that behaves as its first argument (JSON) says. Everything it hears goes to `log`.
import * as child from "node:child_process"
import * as fs from "node:fs"

const options = JSON.parse(process.argv[2] ?? "{}")
const log = (entry) => {
  if (options.log) fs.appendFileSync(options.log, `${JSON.stringify(entry)}\n`)
}
log({ pid: process.pid })
if (options.pids) fs.appendFileSync(options.pids, `${process.pid}\n`)
if (options.ignore_term) process.on("SIGTERM", () => log({ signal: "SIGTERM" }))
if (options.stderr) process.stderr.write(options.stderr)
if (options.children) {
  // one in our group that will not go by itself, which holds our stdout too
  const script = "process.on('SIGTERM',()=>0);process.on('SIGHUP',()=>0);setInterval(()=>0,1000)"
  const { pid } = child.spawn(process.execPath, ["-e", script], { stdio: ["ignore", "inherit", "inherit"] })
  if (options.pids) fs.appendFileSync(options.pids, `${pid}\n`)
}
if (options.exit_at_start) process.exit(options.exit_at_start)

const out = []
let writing = false
const pump = () => {
  const next = out.shift()
  if (next === undefined) {
    writing = false
    return
  }
  writing = true
  process.stdout.write(next, () => setImmediate(pump))
}
const raw = (bytes) => {
  const all = Buffer.from(bytes)
  const size = options.cut ?? all.length
  for (let at = 0; at < all.length; at += size) out.push(all.subarray(at, at + size))
  if (!writing) pump()
}
const send = (message) => {
  const body = Buffer.from(JSON.stringify({ jsonrpc: "2.0", ...message }))
  const length = body.length + (options.length_off ?? 0)
  const head = options.extra_headers
    ? `Content-Type: application/vscode-jsonrpc; charset=utf8\r\ncontent-length: ${length}\r\n\r\n`
    : `Content-Length: ${length}\r\n\r\n`
  raw(Buffer.concat([Buffer.from(head), body]))
}
const notify = (method, params) => send({ method, params })
let asked = 0
const waiting = new Map()
const ask = (method, params) =>
  new Promise((resolve) => {
    const id = `s${++asked}`
    waiting.set(id, resolve)
    send({ id, method, params })
  })

const documents = new Map()
const range = (line, from, to) => ({ start: { line, character: from }, end: { line, character: to } })

/** One diagnostic for each `BAD`, in the units of `encoding`. */
const check = (text) => {
  const found = [...(options.diagnostics ?? [])]
  text.split(/\r\n|\n|\r/).forEach((line, number) => {
    for (let at = line.indexOf("BAD"); at >= 0; at = line.indexOf("BAD", at + 1)) {
      const before = line.slice(0, at)
      const character = options.encoding === "utf-8"
        ? Buffer.byteLength(before)
        : options.encoding === "utf-32"
        ? [...before].length
        : before.length
      found.push({
        range: range(number, character, character + 3),
        message: options.message === undefined ? "BAD is not allowed" : options.message.repeat(options.times ?? 1),
        ...(options.bare ? {} : { severity: 1, source: "hostile", code: "E1" })
      })
    }
  })
  return found
}

const publish = (uri) => {
  const document = documents.get(uri)
  if (document === undefined || options.push === false) return
  if (options.stale_first) {
    notify("textDocument/publishDiagnostics", { uri, version: document.version - 1, diagnostics: [] })
  }
  if (options.empty_first) notify("textDocument/publishDiagnostics", { uri, diagnostics: [] })
  const send = () =>
    notify("textDocument/publishDiagnostics", {
      uri,
      ...(options.versions === false ? {} : { version: document.version }),
      diagnostics: check(document.text)
    })
  if (options.push_delay) setTimeout(send, options.push_delay)
  else send()
}

const flood = () => {
  for (let n = 0; n < options.flood; n++) {
    notify("window/logMessage", { type: 4, message: `flood ${n} ${"x".repeat(200)}` })
    notify("textDocument/publishDiagnostics", { uri: `file:///flood/${n}.txt`, diagnostics: check("BAD") })
    notify("$/progress", { token: `t${n}`, value: { kind: "report" } })
    notify("hostile/unheard-of", { n })
  }
}

const apply = (document, changes) => {
  for (const change of changes) {
    if (change.range === undefined) {
      document.text = change.text
      continue
    }
    const lines = document.text.split(/(?<=\r\n|\n|\r(?!\n))/)
    const offset = ({ character, line }) => {
      const before = lines.slice(0, line).join("")
      const rest = lines[line] ?? ""
      if (options.encoding === "utf-8") {
        return before.length + Buffer.from(rest).subarray(0, character).toString().length
      }
      if (options.encoding === "utf-32") return before.length + [...rest].slice(0, character).join("").length
      return before.length + character
    }
    const [from, to] = [offset(change.range.start), offset(change.range.end)]
    document.text = document.text.slice(0, from) + change.text + document.text.slice(to)
  }
}

const location = (uri) => ({ uri, range: range(1, 2, 5) })
const link = (uri) => ({
  targetUri: uri,
  targetRange: range(0, 0, 9),
  targetSelectionRange: range(1, 2, 5),
  originSelectionRange: range(0, 0, 1)
})
const definitions = (uri) =>
  options.definition === "given" ? options.answer : ({
    null: null,
    empty: [],
    location: location(uri),
    locations: [location(uri), location("file:///other%20place/100%25.txt")],
    links: [link(uri)],
    scheme: { uri: "jdt://contents/rt.jar/java.lang/String.class", range: range(0, 0, 1) },
    nonsense: { uri: 7, range: "here" }
  })[options.definition ?? "location"]
const hovers = {
  given: { contents: { kind: "plaintext", value: String(options.message).repeat(options.times ?? 1) } },
  null: null,
  string: { contents: "plain *text*" },
  marked: { contents: [{ language: "ts", value: "const a: 1" }, "words"] },
  markup: { contents: { kind: "markdown", value: "```ts\nconst a: 1\n```\nwords" } },
  nonsense: { contents: 12 }
}

let results = 0
const answers = {
  "initialize": () => ({
    capabilities: {
      ...(options.encoding ? { positionEncoding: options.encoding } : {}),
      textDocumentSync: options.sync ?? { openClose: true, change: 2, save: { includeText: true } },
      definitionProvider: true,
      referencesProvider: true,
      hoverProvider: { workDoneProgress: true },
      documentSymbolProvider: true,
      renameProvider: true,
      codeActionProvider: { resolveProvider: true },
      ...(options.errors || options.junk
        ? { implementationProvider: true, callHierarchyProvider: true, workspaceSymbolProvider: true }
        : {}),
      ...(options.pull ? { diagnosticProvider: { interFileDependencies: false, workspaceDiagnostics: true } } : {})
    },
    serverInfo: { name: "hostile" }
  }),
  "shutdown": () => null,
  "textDocument/definition": ({ textDocument }) => definitions(textDocument.uri),
  "textDocument/references": ({ textDocument }) => definitions(textDocument.uri),
  "textDocument/hover": () => hovers[options.hover ?? "markup"],
  "textDocument/documentSymbol": ({ textDocument }) => {
    const document = documents.get(textDocument.uri)
    return (document?.text ?? "").split("\n").flatMap((line, number) =>
      line.startsWith("def ")
        ? [{
          name: line.slice(4).trim(),
          kind: 12,
          range: range(number, 0, line.length),
          selectionRange: range(number, 4, 5)
        }]
        : []
    )
  },
  "textDocument/rename": ({ newName, textDocument }) =>
    options.edit ?? ({
      documentChanges: [
        ...(options.resource_edit ? [{ kind: "create", uri: "file:///tmp/evil" }] : []),
        {
          textDocument: {
            uri: options.rename_uri ?? textDocument.uri,
            version: (documents.get(textDocument.uri)?.version ?? 1) + (options.version_off ?? 0)
          },
          edits: check(documents.get(textDocument.uri)?.text ?? "").map((one) => ({
            range: one.range,
            newText: newName
          }))
        }
      ]
    }),
  "textDocument/codeAction": ({ context, textDocument }) =>
    options.actions ?? context.diagnostics.map((one) => ({
      title: "Make it GOOD",
      kind: "quickfix",
      isPreferred: true,
      edit: { changes: { [textDocument.uri]: [{ range: one.range, newText: "GOOD" }] } }
    })),
  "textDocument/diagnostic": ({ previousResultId, textDocument }) => {
    const items = check(documents.get(textDocument.uri)?.text ?? "")
    const resultId = `r${JSON.stringify(items).length}`
    log({ pulled: previousResultId ?? null })
    if (options.retrigger && results++ < options.retrigger) {
      throw { code: -32802, message: "later", data: { retriggerRequest: true } }
    }
    if (options.modified && results++ < options.modified) throw { code: -32801, message: "content modified" }
    if (options.unchanged) return { kind: "unchanged", resultId: "r" }
    return previousResultId === resultId ? { kind: "unchanged", resultId } : { kind: "full", resultId, items }
  },
  "workspace/diagnostic": ({ partialResultToken }) => {
    const items = [...documents].map(([uri, { text, version }]) => ({ kind: "full", uri, version, items: check(text) }))
    if (options.partial) {
      for (const item of items) notify("$/progress", { token: partialResultToken, value: { items: [item] } })
      return undefined
    }
    return { items }
  }
}

const registrationStorm = async () => {
  for (let n = 0; n < options.storm; n++) {
    const method = n % 2 === 0 ? "textDocument/diagnostic" : "hostile/thing"
    const registerOptions = { identifier: `i${n}`, documentSelector: null, workspaceDiagnostics: true }
    void ask("client/registerCapability", { registrations: [{ id: `r${n}`, method, registerOptions }] })
  }
  log({ stormed: await ask("client/unregisterCapability", { unregisterations: [{ id: "r0", method: "x" }] }) })
}

/** What is said of files that nobody asked about, of texts that are over, of places that are none. */
const slander = (uri, version) => {
  const about = (other, old, place) =>
    notify("textDocument/publishDiagnostics", {
      uri: other,
      version: old,
      diagnostics: [{ range: place, message: `slander of ${other}`, severity: 1 }]
    })
  const nowhere = { start: { line: -3, character: -1 }, end: { line: -1, character: -9 } }
  for (const other of ["file:///etc/passwd", "file:///../../x", "untitled:1", "", "file://host/x", "%%%"]) {
    about(other, version, nowhere)
  }
  about(uri, version - 1, nowhere)
  about(uri, -1, range(0, 0, 1))
  for (const odd of [null, 7, {}, { uri }, { uri, diagnostics: 7 }, { uri: 7, diagnostics: [] }, [uri]]) {
    notify("textDocument/publishDiagnostics", odd)
  }
}

/** Registers to be pulled and takes it back, again and again. */
const fickle = async () => {
  for (let n = 0; n < options.fickle; n++) {
    const one = { id: "p", method: "textDocument/diagnostic" }
    await ask("client/registerCapability", { registrations: [{ ...one, registerOptions: { documentSelector: null } }] })
    await ask("client/unregisterCapability", { unregisterations: [one] })
  }
  for (const odd of [null, {}, { registrations: null }, { registrations: [null, 7, {}, { id: 7, method: [] }] }]) {
    await ask("client/registerCapability", odd)
    await ask("client/unregisterCapability", odd)
  }
  log({ shown: await ask("window/showDocument", { uri: "https://127.0.0.1/", external: true, takeFocus: true }) })
  const range = { start: { line: 0, character: 0 }, end: { line: 9, character: 0 } }
  const changes = Object.fromEntries([...documents.keys()].map((uri) => [uri, [{ range, newText: "gone" }]]))
  log({ applied: await ask("workspace/applyEdit", { label: "harm", edit: { changes } }) })
}

const progress = async () => {
  await ask("window/workDoneProgress/create", { token: "big" })
  for (let n = 0; n < 5; n++) {
    notify("$/progress", { token: "big", value: { kind: "report", message: "x".repeat(options.progress) } })
  }
  for (const odd of [null, {}, { token: {}, value: 7 }, { token: "hanzo-1", value: { items: 7 } }]) {
    notify("$/progress", odd)
  }
}

const serverRequests = async () => {
  const configuration = await ask("workspace/configuration", {
    items: Array.from({ length: 100 }, (_, n) => ({ section: n % 2 === 0 ? "hostile.depth" : "nothing.here" }))
  })
  log({ configuration })
  log({ folders: await ask("workspace/workspaceFolders") })
  log({ progress: await ask("window/workDoneProgress/create", { token: "p" }) })
  log({ edit: await ask("workspace/applyEdit", { edit: { changes: {} } }) })
  log({ message: await ask("window/showMessageRequest", { type: 1, message: "?", actions: [{ title: "yes" }] }) })
  log({ refresh: await ask("workspace/semanticTokens/refresh") })
  log({ diagnostics: await ask("workspace/diagnostic/refresh") })
  log({ unknown: await ask("hostile/unknown", {}) })
  log({
    registered: await ask("client/registerCapability", {
      registrations: [{
        id: "d",
        method: "textDocument/diagnostic",
        registerOptions: { documentSelector: null, interFileDependencies: false, workspaceDiagnostics: false }
      }]
    })
  })
}

const heard = {
  "initialized": () => {
    if (options.register) void serverRequests()
    if (options.storm) void registrationStorm()
    if (options.fickle) void fickle()
    if (options.progress) void progress()
    if (options.deaf) {
      process.stdin.pause()
      setInterval(() => undefined, 1000)
    }
    if (options.eat) {
      const eaten = []
      setInterval(() => eaten.push(Buffer.alloc(options.eat, 1)), 20)
    }
    if (options.noise) raw(Buffer.from(options.noise))
    if (options.huge) raw(Buffer.from(`Content-Length: ${options.huge}\r\n\r\n{"jsonrpc":"2.0","method":"big"`))
  },
  "textDocument/didOpen": ({ textDocument }) => {
    documents.set(textDocument.uri, { text: textDocument.text, version: textDocument.version })
    if (options.flood) flood()
    if (options.slander) slander(textDocument.uri, textDocument.version)
    publish(textDocument.uri)
    if (options.slander) slander(textDocument.uri, textDocument.version)
  },
  "textDocument/didChange": ({ contentChanges, textDocument }) => {
    const document = documents.get(textDocument.uri)
    apply(document, contentChanges)
    document.version = textDocument.version
    if (options.slander) slander(textDocument.uri, textDocument.version)
    publish(textDocument.uri)
  },
  "textDocument/didClose": ({ textDocument }) => {
    documents.delete(textDocument.uri)
    if (options.push !== false) notify("textDocument/publishDiagnostics", { uri: textDocument.uri, diagnostics: [] })
  },
  "exit": () => {
    if (!options.ignore_exit) process.exit(options.exit_code ?? 0)
  }
}

/** How often it has crashed, over all its lives. */
const mayCrash = () => {
  if (options.crash_times === undefined) return true
  const file = `${options.log}.crashes`
  const times = fs.existsSync(file) ? Number(fs.readFileSync(file, "utf8")) : 0
  if (times >= options.crash_times) return false
  fs.writeFileSync(file, String(times + 1))
  return true
}

let turns = 0
const take = (message) => {
  const { id, method, params, result, error } = message
  if (method === undefined) {
    waiting.get(id)?.(error ?? result)
    waiting.delete(id)
    return
  }
  log({ method, ...(id === undefined ? {} : { id }), params })
  if (options.crash_on === method && mayCrash()) {
    process.stderr.write("going down\n")
    process.exit(7)
  }
  if (options.close_on === method) {
    fs.closeSync(1)
    setInterval(() => undefined, 1000)
    return
  }
  if (id === undefined) {
    heard[method]?.(params)
    return
  }
  if (options.die_on === method) process.kill(process.pid, "SIGKILL")
  if (options.silent_on?.includes(method)) return
  if (method !== "initialize" && method !== "shutdown") {
    if (options.errors) return send({ id, error: options.errors[turns++ % options.errors.length] })
    if (options.junk) return send({ id, result: options.junk[turns++ % options.junk.length] })
  }
  if (options.initialize !== undefined && method === "initialize") return send({ id, ...options.initialize })
  const answer = answers[method]
  if (answer === undefined) return send({ id, error: { code: -32601, message: `no ${method}` } })
  try {
    const value = answer(params)
    if (options.wrong_ids) {
      for (const other of [id + 1000, String(id + 1000), null, -1, 1e300]) send({ id: other, result: { wrong: other } })
    }
    if (value !== undefined) send({ id, result: value })
    if (options.wrong_ids) {
      send({ id, result: null })
      send({ id, error: { code: 1, message: "again" } })
    }
  } catch (fault) {
    send({ id, error: fault })
  }
}

let held = Buffer.alloc(0)
process.stdin.on("data", (bytes) => {
  held = Buffer.concat([held, bytes])
  for (;;) {
    const end = held.indexOf("\r\n\r\n")
    if (end < 0) return
    const length = Number(/Content-Length: (\d+)/.exec(held.subarray(0, end).toString())?.[1])
    if (held.length < end + 4 + length) return
    const body = held.subarray(end + 4, end + 4 + length).toString()
    held = held.subarray(end + 4 + length)
    take(JSON.parse(body))
  }
})
process.stdin.on("end", () => {
  if (!options.ignore_exit) process.exit(1)
})
if (options.ignore_exit) setInterval(() => undefined, 1000)
