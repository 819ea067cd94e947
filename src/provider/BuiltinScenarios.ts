/**
 * The scenarios that come with the program: `scripted/NAME` without any file.
 *
 * @since 0.1.0
 */
import type { ScenarioDocument } from "./ScenarioDocument.ts"

/** By name; documents as a file would hold them. @since 0.1.0 @category constants */
export const builtinScenarios: Readonly<Record<string, ScenarioDocument>> = {
  echo: {
    name: "echo",
    description: "Answers with the user's last text.",
    turns: [{ text: "{{prompt}}", repeat: "forever" }]
  },
  hello: {
    name: "hello",
    description: "A greeting, whatever is said.",
    turns: [{ text: "Hello from the scripted model.", repeat: "forever" }]
  }
}
