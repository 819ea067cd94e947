/** `hanzo-dev lsp ...`. @since 0.1.0 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { layerServerSpawner } from "../../app/LanguageServers.ts"
import { Lsp } from "../../lsp/Lsp.ts"
import { AtomicFile } from "../../platform/AtomicFile.ts"
import { Files } from "../../platform/Files.ts"
import { Processes } from "../../platform/Processes.ts"
import { Container } from "../../sandbox/Detect.ts"
import { Enforcement } from "../../sandbox/Enforcement.ts"
import { Sandbox } from "../../sandbox/Sandbox.ts"
import { settingsLayer } from "../Compose.ts"
import { command } from "../Entry.ts"
import * as LspCommands from "../Lsp.ts"
import * as Spec from "../Spec.ts"

interface Choice {
  readonly directory: string | undefined
  readonly "trust-workspace": boolean
}

const layer = (choice: Choice) =>
  Lsp.layer.pipe(
    Layer.provide(layerServerSpawner),
    Layer.provideMerge(Sandbox.layer),
    Layer.provideMerge(
      Layer.mergeAll(
        Enforcement.layer,
        Container.layer,
        settingsLayer({ directory: choice.directory, trust_workspace: choice["trust-workspace"] })
      )
    ),
    Layer.provideMerge(Layer.mergeAll(Processes.layer, Files.layer, AtomicFile.layer))
  )

/** @since 0.1.0 @category constructors */
export const status = command(
  Spec.lspStatus,
  (values) => Effect.provide(LspCommands.status(values), layer(values))
)

/** @since 0.1.0 @category constructors */
export const doctor = command(
  Spec.lspDoctor,
  (values) => Effect.provide(LspCommands.doctor(values), layer(values))
)

/** @since 0.1.0 @category constructors */
export const diagnostics = command(
  Spec.lspDiagnostics,
  (values) => Effect.provide(LspCommands.diagnostics(values), layer(values))
)

/** @since 0.1.0 @category constructors */
export const definition = command(
  Spec.lspDefinition,
  (values) => Effect.provide(LspCommands.definition(values), layer(values))
)

/** @since 0.1.0 @category constructors */
export const references = command(
  Spec.lspReferences,
  (values) => Effect.provide(LspCommands.references(values), layer(values))
)

/** @since 0.1.0 @category constructors */
export const hover = command(
  Spec.lspHover,
  (values) => Effect.provide(LspCommands.hover(values), layer(values))
)

/** @since 0.1.0 @category constructors */
export const symbols = command(
  Spec.lspSymbols,
  (values) => Effect.provide(LspCommands.symbols(values), layer(values))
)

/** @since 0.1.0 @category constructors */
export const rename = command(
  Spec.lspRename,
  (values) => Effect.provide(LspCommands.rename(values), layer(values))
)
