// Prints the JSON Schemas of the tools' arguments by name, as the library in the given folder makes them. The program's
// bundle takes them as they are: every request names all tools, and to make the schemas anew takes a start some time.
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { pathToFileURL } from "node:url"

const [lib] = process.argv.slice(2)
const home = mkdtempSync(join(tmpdir(), "hanzo-build-"))
for (const name of Object.keys(process.env)) if (name.startsWith("HANZO_")) delete process.env[name]
for (const name of ["CONFIG", "DATA", "STATE", "CACHE"]) process.env[`HANZO_${name}_HOME`] = join(home, name)
const load = (file) => import(pathToFileURL(join(lib, file)).href)
const [{ layerProgram }, { layer }, { ToolExecutor }, Effect, Layer] = await Promise.all([
  load("app/Runtime.js"),
  load("platform/NodePlatform.js"),
  load("domain/ToolExecutor.js"),
  import("effect/Effect"),
  import("effect/Layer")
])
const program = Layer.provide(layerProgram({ memory: true, settings: "{}", directory: home }), layer)
const tools = await Effect.runPromise(
  Effect.provide(Effect.flatMap(ToolExecutor, ({ definitions }) => definitions), program)
)
process.stdout.write(JSON.stringify(Object.fromEntries(tools.map(({ input_schema, name }) => [name, input_schema]))))
rmSync(home, { recursive: true, force: true })
process.exit(0)
