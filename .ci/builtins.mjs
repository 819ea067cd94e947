// Modules of Node in the bundle. Each stands there once, with the names that are used, in place of a copy of all its names
// for every module that imports it. Those that most starts do not need are loaded by the first call of one of their
// functions: each of them takes a millisecond or more.
import { builtinModules, createRequire } from "node:module"
import { dirname } from "node:path"
import { fileURLToPath } from "node:url"

const require = createRequire(import.meta.url)

const late = new Set(["child_process", "crypto", "dns", "fs/promises", "module", "os", "v8", "zlib"])
/** `node:sqlite` and the like: not in every Node. */
const known = builtinModules.filter((name) => !name.startsWith("_"))

const isClass = (value) =>
  /^class\b/.test(Function.prototype.toString.call(value)) ||
  (value.prototype !== undefined && Object.getOwnPropertyNames(value.prototype).length > 1)

/** A name that nobody imports is dropped from the bundle. */
const contents = (name) => {
  const module = require(`node:${name}`)
  // A name behind a getter (`fs.promises`) loads another module when it is read; whoever needs that one imports it.
  const plain = (key) => late.has(name) || Object.getOwnPropertyDescriptor(module, key)?.get === undefined
  // An object would be read when the program starts, and load the module: the build fails for who imports one.
  const late_enough = (key) =>
    !late.has(name) || typeof Object.getOwnPropertyDescriptor(module, key)?.value !== "object"
  const names = Object.keys(module).filter((key) =>
    /^[A-Za-z_$][\w$]*$/.test(key) && key !== "default" && plain(key) && late_enough(key)
  )
  const later = (key) => {
    if (!late.has(name)) return false
    const value = Object.getOwnPropertyDescriptor(module, key)?.value
    return typeof value === "function" && !isClass(value)
  }
  return [
    ...(late.has(name) ? ["let loaded", `const load = () => loaded ??= require("node:${name}")`] : [
      `const module = require("node:${name}")`,
      "const load = () => module"
    ]),
    ...names.map((key) =>
      later(key)
        ? `export const ${key} = (...args) => load().${key}(...args)`
        : `export const ${key} = /* @__PURE__ */ (() => load().${key})()`
    ),
    "export default /* @__PURE__ */ load()"
  ].join("\n")
}

// Packages of functions that a usual start does not call, loaded by the first call: the build that bundles, and the names
// that are used. jsonc-parser writes 1,200 texts into tables when it is loaded; its other build loads its parts in a way
// that no bundler follows.
const packages = {
  "jsonc-parser": {
    file: "jsonc-parser/lib/esm/main.js",
    names: ["applyEdits", "createScanner", "findNodeAtLocation", "modify", "parseTree", "printParseErrorCode"]
  }
}

const latePackage = ({ file, names }) =>
  [
    "let loaded",
    `const load = () => loaded ??= require(${JSON.stringify(file)})`,
    ...names.map((name) => `export const ${name} = (...args) => load().${name}(...args)`)
  ].join("\n")

/** @type {import("esbuild").Plugin} */
export const builtins = {
  name: "builtins",
  setup: (build) => {
    const whole = new RegExp(`^(?:${Object.keys(packages).join("|")})$`)
    build.onResolve({ filter: whole }, ({ path }) => ({ path, namespace: "late", sideEffects: false }))
    build.onLoad({ filter: /.*/, namespace: "late" }, ({ path }) => ({
      contents: latePackage(packages[path]),
      loader: "js",
      resolveDir: dirname(dirname(fileURLToPath(import.meta.url)))
    }))
    const filter = new RegExp(`^(?:node:)?(?:${known.join("|")})$`)
    build.onResolve({ filter }, ({ kind, namespace, path }) =>
      kind === "import-statement" && namespace !== "builtin"
        ? { path: path.replace("node:", ""), namespace: "builtin", sideEffects: false }
        : undefined)
    build.onLoad({ filter: /.*/, namespace: "builtin" }, ({ path }) => ({ contents: contents(path), loader: "js" }))
  }
}
