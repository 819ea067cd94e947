/**
 * Language servers that are known by name: what they serve, how they are found, started and configured, and the command
 * that brings them (reading 8, default table). Data only; settings lie over it.
 *
 * @since 0.1.0
 */
import type { JsonObject } from "../domain/Json.ts"

/** @since 0.1.0 @category models */
export interface KnownServer {
  readonly name: string
  /** For people. */
  readonly languages: string
  /** Of one family one server runs: the first in the table that is there. */
  readonly family: string
  /** With the dot. */
  readonly extensions: ReadonlyArray<string>
  /** Whole names of files. */
  readonly filenames?: ReadonlyArray<string>
  /** Files of a project's root; the nearest directory above a file that has one is its root. */
  readonly root_markers: ReadonlyArray<string>
  /** Only below a root marker. */
  readonly needs_marker?: boolean
  readonly command: readonly [string, ...ReadonlyArray<string>]
  /** What brings it. */
  readonly install: string
  /** By extension; default: the extension without its dot. */
  readonly language_ids?: Readonly<Record<string, string>>
  readonly initialization_options?: JsonObject
  readonly settings?: JsonObject
  /** It runs programs of the project: only where the sandbox holds it, or in a trusted workspace. */
  readonly runs_project_code?: boolean
  /** The program must belong to TypeScript 7 or later, or to one before it. */
  readonly typescript?: "native"
  /** Wants the path of a `tsserver.js` in its initialization options. */
  readonly wants_tsserver?: boolean
  readonly silent_when_clean?: boolean
  /** A program that it runs itself; without it, it says nothing is wrong with any file. */
  readonly checker?: { readonly program: string; readonly install: string }
}

const typescript = [".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs"]
const typescriptIds: Readonly<Record<string, string>> = {
  ".ts": "typescript",
  ".mts": "typescript",
  ".cts": "typescript",
  ".tsx": "typescriptreact",
  ".js": "javascript",
  ".mjs": "javascript",
  ".cjs": "javascript",
  ".jsx": "javascriptreact"
}
/** A rename reaches all places, without aliases in imports; types of packages are not fetched with npm. */
const ofLanguage: JsonObject = { preferences: { useAliasesForRenames: false }, disableAutomaticTypeAcquisition: true }
const typescriptSettings: JsonObject = {
  typescript: ofLanguage,
  javascript: ofLanguage,
  "js/ts": { tsserver: { automaticTypeAcquisition: { enabled: false } } }
}
const typescriptRoots = ["tsconfig.json", "jsconfig.json", "package.json"]
const python = [".py", ".pyi"]
const pythonIds: Readonly<Record<string, string>> = { ".py": "python", ".pyi": "python" }
const pythonRoots = ["pyrightconfig.json", "pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "Pipfile"]
const npm = (name: string): string => `npm install -g ${name}`
const extracted = npm("vscode-langservers-extracted")

/** In the order in which members of a family are tried. @since 0.1.0 @category constants */
export const knownServers: ReadonlyArray<KnownServer> = [
  {
    name: "typescript",
    languages: "TypeScript, JavaScript",
    family: "typescript",
    extensions: typescript,
    root_markers: typescriptRoots,
    command: ["tsc", "--lsp", "--stdio"],
    install: npm("typescript@7"),
    language_ids: typescriptIds,
    settings: typescriptSettings,
    typescript: "native"
  },
  {
    name: "tsgo",
    languages: "TypeScript, JavaScript",
    family: "typescript",
    extensions: typescript,
    root_markers: typescriptRoots,
    command: ["tsgo", "--lsp", "--stdio"],
    install: npm("@typescript/native-preview"),
    language_ids: typescriptIds,
    settings: typescriptSettings
  },
  {
    name: "typescript-language-server",
    languages: "TypeScript, JavaScript",
    family: "typescript",
    extensions: typescript,
    root_markers: typescriptRoots,
    command: ["typescript-language-server", "--stdio"],
    install: npm("typescript-language-server typescript@5"),
    language_ids: typescriptIds,
    initialization_options: {
      disableAutomaticTypingAcquisition: true,
      preferences: { providePrefixAndSuffixTextForRename: false }
    },
    wants_tsserver: true,
    silent_when_clean: true
  },
  {
    name: "vtsls",
    languages: "TypeScript, JavaScript",
    family: "typescript",
    extensions: typescript,
    root_markers: typescriptRoots,
    command: ["vtsls", "--stdio"],
    install: npm("@vtsls/language-server"),
    language_ids: typescriptIds,
    settings: typescriptSettings
  },
  {
    name: "deno",
    languages: "TypeScript, JavaScript (Deno)",
    family: "deno",
    extensions: typescript,
    root_markers: ["deno.json", "deno.jsonc"],
    needs_marker: true,
    command: ["deno", "lsp"],
    install: npm("deno"),
    language_ids: typescriptIds,
    initialization_options: { enable: true }
  },
  {
    name: "eslint",
    languages: "JavaScript, TypeScript (lint)",
    family: "eslint",
    extensions: typescript,
    root_markers: [
      "eslint.config.js",
      "eslint.config.mjs",
      "eslint.config.cjs",
      "eslint.config.ts",
      ".eslintrc.json",
      ".eslintrc.js",
      ".eslintrc.cjs",
      ".eslintrc.yml",
      ".eslintrc.yaml"
    ],
    needs_marker: true,
    command: ["vscode-eslint-language-server", "--stdio"],
    install: extracted,
    language_ids: typescriptIds,
    runs_project_code: true,
    // it asks for its whole configuration under an empty section
    settings: {
      validate: "on",
      run: "onType",
      problems: { shortenToSingleLine: false },
      nodePath: null,
      rulesCustomizations: [],
      experimental: {},
      workingDirectory: { mode: "location" },
      codeActionOnSave: { enable: false, mode: "all" },
      format: false,
      quiet: false,
      onIgnoredFiles: "off",
      options: {},
      codeAction: {
        disableRuleComment: { enable: true, location: "separateLine" },
        showDocumentation: { enable: false }
      }
    }
  },
  {
    name: "pyright",
    languages: "Python",
    family: "python",
    extensions: python,
    root_markers: pythonRoots,
    command: ["pyright-langserver", "--stdio"],
    install: npm("pyright"),
    language_ids: pythonIds,
    settings: {
      python: { analysis: { autoSearchPaths: true, useLibraryCodeForTypes: true, diagnosticMode: "openFilesOnly" } }
    }
  },
  {
    name: "basedpyright",
    languages: "Python",
    family: "python",
    extensions: python,
    root_markers: pythonRoots,
    command: ["basedpyright-langserver", "--stdio"],
    install: "pip install basedpyright",
    language_ids: pythonIds,
    settings: { basedpyright: { analysis: { diagnosticMode: "openFilesOnly" } } }
  },
  {
    name: "pylsp",
    languages: "Python",
    family: "python",
    extensions: python,
    root_markers: pythonRoots,
    command: ["pylsp"],
    install: "pip install python-lsp-server",
    language_ids: pythonIds
  },
  {
    name: "ruff",
    languages: "Python (lint)",
    family: "ruff",
    extensions: python,
    root_markers: ["ruff.toml", ".ruff.toml"],
    needs_marker: true,
    command: ["ruff", "server"],
    install: "pip install ruff",
    language_ids: pythonIds
  },
  {
    name: "rust-analyzer",
    languages: "Rust",
    family: "rust",
    extensions: [".rs"],
    root_markers: ["Cargo.toml", "rust-project.json"],
    command: ["rust-analyzer"],
    install: "rustup component add rust-analyzer",
    language_ids: { ".rs": "rust" },
    runs_project_code: true
  },
  {
    name: "gopls",
    languages: "Go",
    family: "go",
    extensions: [".go"],
    filenames: ["go.mod", "go.work"],
    root_markers: ["go.work", "go.mod"],
    command: ["gopls"],
    install: "go install golang.org/x/tools/gopls@latest",
    language_ids: { ".go": "go", "go.mod": "go.mod", "go.work": "go.work" }
  },
  {
    name: "clangd",
    languages: "C, C++",
    family: "c",
    extensions: [".c", ".h", ".cc", ".cpp", ".cxx", ".c++", ".hh", ".hpp", ".hxx", ".m", ".mm"],
    root_markers: ["compile_commands.json", "compile_flags.txt", ".clangd", "CMakeLists.txt", "Makefile"],
    command: ["clangd", "--background-index=false"],
    install: "apt-get install clangd",
    language_ids: {
      ".c": "c",
      ".h": "c",
      ".m": "objective-c",
      ".mm": "objective-cpp",
      ".cc": "cpp",
      ".cpp": "cpp",
      ".cxx": "cpp",
      ".c++": "cpp",
      ".hh": "cpp",
      ".hpp": "cpp",
      ".hxx": "cpp"
    }
  },
  {
    name: "bash",
    languages: "Shell",
    family: "bash",
    extensions: [".sh", ".bash"],
    filenames: [".bashrc", ".bash_profile", ".profile"],
    root_markers: [],
    command: ["bash-language-server", "start"],
    install: npm("bash-language-server"),
    checker: { program: "shellcheck", install: "apt-get install shellcheck" },
    language_ids: { ".sh": "shellscript", ".bash": "shellscript" }
  },
  {
    name: "yaml",
    languages: "YAML",
    family: "yaml",
    extensions: [".yaml", ".yml"],
    root_markers: [],
    command: ["yaml-language-server", "--stdio"],
    install: npm("yaml-language-server"),
    language_ids: { ".yaml": "yaml", ".yml": "yaml" },
    // schemas are not fetched
    settings: {
      yaml: { validate: true, schemaStore: { enable: false, url: "" } },
      redhat: { telemetry: { enabled: false } }
    }
  },
  {
    name: "json",
    languages: "JSON",
    family: "json",
    extensions: [".json", ".jsonc"],
    root_markers: [],
    command: ["vscode-json-language-server", "--stdio"],
    install: extracted,
    language_ids: { ".json": "json", ".jsonc": "jsonc" },
    initialization_options: { provideFormatter: false, handledSchemaProtocols: ["file"] },
    settings: { json: { validate: { enable: true }, schemas: [] }, http: {} }
  },
  {
    name: "css",
    languages: "CSS, SCSS, Less",
    family: "css",
    extensions: [".css", ".scss", ".less"],
    root_markers: [],
    command: ["vscode-css-language-server", "--stdio"],
    install: extracted,
    initialization_options: { provideFormatter: false },
    settings: { css: { validate: true }, scss: { validate: true }, less: { validate: true } }
  },
  {
    name: "html",
    languages: "HTML",
    family: "html",
    extensions: [".html", ".htm"],
    root_markers: [],
    command: ["vscode-html-language-server", "--stdio"],
    install: extracted,
    language_ids: { ".html": "html", ".htm": "html" },
    initialization_options: { provideFormatter: false, embeddedLanguages: { css: true, javascript: true } }
  },
  {
    name: "vue",
    languages: "Vue",
    family: "vue",
    extensions: [".vue"],
    root_markers: ["package.json"],
    command: ["vue-language-server", "--stdio"],
    install: npm("@vue/language-server"),
    wants_tsserver: true
  },
  {
    name: "svelte",
    languages: "Svelte",
    family: "svelte",
    extensions: [".svelte"],
    root_markers: ["package.json"],
    command: ["svelteserver", "--stdio"],
    install: npm("svelte-language-server"),
    runs_project_code: true
  },
  {
    name: "astro",
    languages: "Astro",
    family: "astro",
    extensions: [".astro"],
    root_markers: ["package.json"],
    command: ["astro-ls", "--stdio"],
    install: npm("@astrojs/language-server"),
    wants_tsserver: true
  },
  {
    name: "lua",
    languages: "Lua",
    family: "lua",
    extensions: [".lua"],
    root_markers: [".luarc.json", ".luarc.jsonc", ".stylua.toml"],
    command: ["lua-language-server"],
    install: "brew install lua-language-server",
    settings: { Lua: { telemetry: { enable: false } } }
  },
  {
    name: "zls",
    languages: "Zig",
    family: "zig",
    extensions: [".zig", ".zon"],
    root_markers: ["build.zig"],
    command: ["zls"],
    install: "brew install zls",
    language_ids: { ".zig": "zig", ".zon": "zig" },
    runs_project_code: true
  },
  {
    name: "jdtls",
    languages: "Java",
    family: "java",
    extensions: [".java"],
    root_markers: ["pom.xml", "build.gradle", "build.gradle.kts", "settings.gradle"],
    command: ["jdtls"],
    install: "brew install jdtls",
    runs_project_code: true
  },
  {
    name: "kotlin",
    languages: "Kotlin",
    family: "kotlin",
    extensions: [".kt", ".kts"],
    root_markers: ["build.gradle.kts", "build.gradle", "settings.gradle.kts", "pom.xml"],
    command: ["kotlin-language-server"],
    install: "brew install kotlin-language-server",
    language_ids: { ".kt": "kotlin", ".kts": "kotlin" },
    runs_project_code: true
  },
  {
    name: "csharp-ls",
    languages: "C#",
    family: "csharp",
    extensions: [".cs"],
    root_markers: ["global.json", "Directory.Build.props"],
    command: ["csharp-ls"],
    install: "dotnet tool install --global csharp-ls",
    language_ids: { ".cs": "csharp" },
    runs_project_code: true
  },
  {
    name: "ruby-lsp",
    languages: "Ruby",
    family: "ruby",
    extensions: [".rb", ".rake", ".gemspec"],
    filenames: ["Gemfile", "Rakefile"],
    root_markers: ["Gemfile", ".ruby-version"],
    command: ["ruby-lsp"],
    install: "gem install ruby-lsp",
    language_ids: { ".rb": "ruby", ".rake": "ruby", ".gemspec": "ruby", "Gemfile": "ruby", "Rakefile": "ruby" },
    runs_project_code: true
  },
  {
    name: "solargraph",
    languages: "Ruby",
    family: "ruby",
    extensions: [".rb", ".rake", ".gemspec"],
    root_markers: ["Gemfile", ".solargraph.yml"],
    command: ["solargraph", "stdio"],
    install: "gem install solargraph",
    language_ids: { ".rb": "ruby", ".rake": "ruby", ".gemspec": "ruby" },
    runs_project_code: true
  },
  {
    name: "intelephense",
    languages: "PHP",
    family: "php",
    extensions: [".php", ".phtml"],
    root_markers: ["composer.json"],
    command: ["intelephense", "--stdio"],
    install: npm("intelephense"),
    language_ids: { ".php": "php", ".phtml": "php" },
    settings: { intelephense: { telemetry: { enabled: false } } }
  },
  {
    name: "elixir-ls",
    languages: "Elixir",
    family: "elixir",
    extensions: [".ex", ".exs", ".heex"],
    root_markers: ["mix.exs"],
    command: ["elixir-ls"],
    install: "brew install elixir-ls",
    language_ids: { ".ex": "elixir", ".exs": "elixir", ".heex": "phoenix-heex" },
    runs_project_code: true
  },
  {
    name: "erlang",
    languages: "Erlang",
    family: "erlang",
    extensions: [".erl", ".hrl"],
    root_markers: ["rebar.config", "erlang.mk"],
    command: ["elp", "server"],
    install: "brew install erlang-language-platform",
    language_ids: { ".erl": "erlang", ".hrl": "erlang" },
    runs_project_code: true
  },
  {
    name: "gleam",
    languages: "Gleam",
    family: "gleam",
    extensions: [".gleam"],
    root_markers: ["gleam.toml"],
    command: ["gleam", "lsp"],
    install: "brew install gleam"
  },
  {
    name: "haskell",
    languages: "Haskell",
    family: "haskell",
    extensions: [".hs", ".lhs"],
    root_markers: ["stack.yaml", "cabal.project", "hie.yaml", "package.yaml"],
    command: ["haskell-language-server-wrapper", "--lsp"],
    install: "ghcup install hls",
    language_ids: { ".hs": "haskell", ".lhs": "literate haskell" },
    runs_project_code: true
  },
  {
    name: "ocaml",
    languages: "OCaml",
    family: "ocaml",
    extensions: [".ml", ".mli"],
    root_markers: ["dune-project", "dune-workspace"],
    command: ["ocamllsp"],
    install: "opam install ocaml-lsp-server",
    language_ids: { ".ml": "ocaml", ".mli": "ocaml.interface" }
  },
  {
    name: "sourcekit",
    languages: "Swift",
    family: "swift",
    extensions: [".swift"],
    root_markers: ["Package.swift"],
    command: ["sourcekit-lsp"],
    install: "install the Swift toolchain (swift.org)",
    runs_project_code: true
  },
  {
    name: "dart",
    languages: "Dart",
    family: "dart",
    extensions: [".dart"],
    root_markers: ["pubspec.yaml"],
    command: ["dart", "language-server", "--protocol=lsp"],
    install: "install the Dart SDK (dart.dev)"
  },
  {
    name: "terraform",
    languages: "Terraform",
    family: "terraform",
    extensions: [".tf", ".tfvars"],
    root_markers: [".terraform", ".terraform.lock.hcl"],
    command: ["terraform-ls", "serve"],
    install: "brew install hashicorp/tap/terraform-ls",
    language_ids: { ".tf": "terraform", ".tfvars": "terraform-vars" }
  },
  {
    name: "docker",
    languages: "Dockerfile",
    family: "docker",
    extensions: [".dockerfile"],
    filenames: ["Dockerfile", "Containerfile"],
    root_markers: [],
    command: ["docker-langserver", "--stdio"],
    install: npm("dockerfile-language-server-nodejs"),
    language_ids: { ".dockerfile": "dockerfile", "Dockerfile": "dockerfile", "Containerfile": "dockerfile" }
  },
  {
    name: "nix",
    languages: "Nix",
    family: "nix",
    extensions: [".nix"],
    root_markers: ["flake.nix"],
    command: ["nil"],
    install: "nix profile install nixpkgs#nil"
  },
  {
    name: "taplo",
    languages: "TOML",
    family: "toml",
    extensions: [".toml"],
    root_markers: [],
    command: ["taplo", "lsp", "stdio"],
    install: npm("@taplo/cli")
  },
  {
    name: "texlab",
    languages: "LaTeX",
    family: "latex",
    extensions: [".tex", ".bib"],
    root_markers: [".latexmkrc"],
    command: ["texlab"],
    install: "cargo install texlab",
    language_ids: { ".tex": "latex", ".bib": "bibtex" }
  },
  {
    name: "prisma",
    languages: "Prisma",
    family: "prisma",
    extensions: [".prisma"],
    root_markers: ["package.json"],
    command: ["prisma-language-server", "--stdio"],
    install: npm("@prisma/language-server")
  },
  {
    name: "graphql",
    languages: "GraphQL",
    family: "graphql",
    extensions: [".graphql", ".gql"],
    root_markers: [".graphqlrc", ".graphqlrc.yml", ".graphqlrc.json", "graphql.config.js"],
    needs_marker: true,
    command: ["graphql-lsp", "server", "-m", "stream"],
    install: npm("graphql-language-service-cli"),
    language_ids: { ".graphql": "graphql", ".gql": "graphql" },
    runs_project_code: true
  }
]
