/**
 * Compaction of a long conversation, and the estimate of tokens against a real tokenizer.
 *
 * The tokenizer stands in its own folder (`.cache/tokenizer`, or `$TOKENIZER_DIR`), never in package.json:
 * `npm i --prefix .cache/tokenizer gpt-tokenizer@3.4.0`.
 */
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import * as path from "node:path"
import { pathToFileURL } from "node:url"
import { textTokens } from "../src/compactor/Budget.ts"
import { SessionCompactor } from "../src/compactor/SessionCompactor.ts"
import type { Message } from "../src/domain/Message.ts"
import type { BenchResult } from "./Bench.ts"
import { interleaved, median, result } from "./Bench.ts"

interface Options {
  readonly root: string
  readonly skip: (what: string) => void
}

/** One kilobyte of what a conversation holds, none of it twice. */
const kilobyte = (n: number): string => {
  const line = `${n}: the parser reads a line, keeps what it has not understood, and goes on with the next one. `
  return line.repeat(Math.ceil(1024 / line.length)).slice(0, 1024)
}

/** Questions, calls with their results, answers: 10,000 messages without a count. */
const conversation = (): ReadonlyArray<Message> =>
  Array.from({ length: 10_000 }, (_, n): Message => {
    const text = kilobyte(n)
    switch (n % 4) {
      case 0:
        return { role: "user", content: [{ type: "text", text }] }
      case 1:
        return {
          role: "assistant",
          content: [{
            type: "tool_call",
            id: `c${n}`,
            name: "write",
            arguments: JSON.stringify({ path: `f${n}`, text })
          }]
        }
      case 2:
        return { role: "tool", tool_call_id: `c${n - 1}`, tool_name: "write", content: text }
      default:
        return { role: "assistant", content: [{ type: "text", text }] }
    }
  })

const chinese =
  "人工智能代理在终端中运行，它读取文件、执行命令并修改代码。用户提出要求之后，代理先查看相关文件，然后制定计划，再逐步完成工作。" +
  "每次修改之后都要运行测试，以确认结果正确。如果测试失败，代理会阅读错误信息，找出原因并再次尝试。所有操作都受到权限规则的限制。"

const list = (root: string, folder: string, ext: string): ReadonlyArray<string> =>
  fs.readdirSync(path.join(root, folder)).filter((name) => name.endsWith(ext)).map((name) =>
    path.join(root, folder, name)
  )

/** Texts of this project, and Chinese ones. */
const samples = (root: string): Readonly<Record<string, ReadonlyArray<string>>> => {
  const read = (files: ReadonlyArray<string>) => files.map((file) => fs.readFileSync(file, "utf8").slice(0, 20_000))
  const json = list(root, "test-vectors", ".json")
  return {
    prose: read(list(root, "docs", ".md")).map((text) => text.replaceAll(/```[\s\S]*?```|^\|.*$/gm, "")),
    code: read(list(root, "src/agent", ".ts")),
    "JSON, indented": json.map((file) => fs.readFileSync(file, "utf8")).filter((text) => text.length < 60_000),
    "JSON, compact": json.map((file) => JSON.stringify(JSON.parse(fs.readFileSync(file, "utf8"))))
      .filter((text) => text.length < 60_000),
    Chinese: [chinese, chinese.slice(0, 60), fs.existsSync(path.join(root, "docs")) ? chinese.slice(60) : ""]
  }
}

type Encode = (text: string) => ReadonlyArray<number>

const tokenizer = async ({ root, skip }: Options): Promise<Encode | null> => {
  const folder = process.env["TOKENIZER_DIR"] ?? path.join(root, ".cache", "tokenizer")
  const file = path.join(folder, "node_modules", "gpt-tokenizer", "esm", "encoding", "o200k_base.js")
  if (!fs.existsSync(file)) {
    skip("gpt-tokenizer is not in .cache/tokenizer, the estimate is compared with nothing")
    return null
  }
  const loaded = (await import(pathToFileURL(file).href)) as { readonly encode: Encode }
  return loaded.encode
}

/** @since 0.1.0 @category constructors */
export const run = async (options: Options): Promise<ReadonlyArray<BenchResult>> => {
  const messages = conversation()
  const compactor = new SessionCompactor(200_000, 3)
  const times = interleaved({ compact: () => void Effect.runSync(compactor.compact(messages)) }, 11)
  const results: Array<BenchResult> = [
    result({
      name: "compaction, 10,000 messages of 1 KB without counts, no model",
      value: median(times["compact"] ?? []),
      unit: "ms",
      target: { at_most: 50 }
    })
  ]
  const encode = await tokenizer(options)
  if (encode === null) return results
  for (const [name, texts] of Object.entries(samples(options.root))) {
    let ours = 0
    let theirs = 0
    for (const text of texts) {
      ours += textTokens(text)
      theirs += encode(text).length
    }
    const off = (ours / theirs - 1) * 100
    const peer = "o200k (gpt-tokenizer)"
    results.push(
      result({ name: `estimate of ${name}, not over`, value: off, unit: "%", target: { at_most: 45 }, peer }),
      result({ name: `estimate of ${name}, not under`, value: off, unit: "%", target: { at_least: -20 }, peer })
    )
  }
  return results
}
