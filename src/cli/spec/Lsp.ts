/**
 * `hanzo-dev lsp ...`: what language servers say of a project.
 *
 * @since 0.1.0
 */
import { directory, json } from "./Shared.ts"
import type { CommandSpec } from "./Types.ts"

const timeout = {
  kind: "integer",
  name: "timeout-ms",
  min: 1,
  max: 3_600_000,
  description: "How long a server may take, its start included; default 120000."
} as const

const trust = {
  kind: "flag",
  name: "trust-workspace",
  description: "Trust the settings of this workspace for this run."
} as const

const place = {
  name: "place",
  description: "FILE:LINE or FILE:LINE:COLUMN, counting from 1; without a column the symbol that the line declares."
} as const

const options = [directory, trust, timeout, json] as const

/** @since 0.1.0 @category constants */
export const lspStatus = {
  path: ["lsp", "status"],
  summary: "Show which language servers serve this project, and what is missing. Nothing is started.",
  options: [directory, trust, json],
  args: []
} as const satisfies CommandSpec

/** @since 0.1.0 @category constants */
export const lspDoctor = {
  path: ["lsp", "doctor"],
  summary: "Start each language server of this project and say how it answers. Exit code 1 when one does not.",
  options,
  args: []
} as const satisfies CommandSpec

/** @since 0.1.0 @category constants */
export const lspDiagnostics = {
  path: ["lsp", "diagnostics"],
  summary: "Show what is wrong in files. Exit code 1 when there is an error, 2 when a server could not answer.",
  options,
  args: [{ name: "file", many: true, description: "Files of the project." }]
} as const satisfies CommandSpec

/** @since 0.1.0 @category constants */
export const lspDefinition = {
  path: ["lsp", "definition"],
  summary: "Show where a symbol is defined.",
  options,
  args: [place]
} as const satisfies CommandSpec

/** @since 0.1.0 @category constants */
export const lspReferences = {
  path: ["lsp", "references"],
  summary: "Show where a symbol is used, its definition included.",
  options,
  args: [place]
} as const satisfies CommandSpec

/** @since 0.1.0 @category constants */
export const lspHover = {
  path: ["lsp", "hover"],
  summary: "Show the type and the documentation of a symbol.",
  options,
  args: [place]
} as const satisfies CommandSpec

/** @since 0.1.0 @category constants */
export const lspSymbols = {
  path: ["lsp", "symbols"],
  summary: "List the symbols of a file.",
  options,
  args: [{ name: "file", description: "A file of the project." }]
} as const satisfies CommandSpec

/** @since 0.1.0 @category constants */
export const lspRename = {
  path: ["lsp", "rename"],
  summary: "Rename a symbol in all files of the project, and show the change.",
  options: [
    { kind: "flag", name: "dry-run", description: "Show the change, write nothing." },
    ...options
  ],
  args: [place, { name: "new_name", description: "The new name." }]
} as const satisfies CommandSpec
