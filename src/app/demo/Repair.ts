/**
 * The scripted model of the demo: looks, tries the wrong thing, is refused, repairs the program, proves it.
 *
 * @since 0.1.0
 */
import * as Scenario from "../../provider/Scenario.ts"

/** @since 0.1.0 @category constants */
export const testCommand = "node --test --test-reporter=spec"

/** What the demo may do; the first match decides. @since 0.1.0 @category constants */
export const settings = JSON.stringify({
  model: "scripted/repair",
  permissions: [
    { tool_pattern: "edit(test/*)", mode: "deny", reason: "the tests say what is right; repair the program" },
    { tool_pattern: "edit(src/*)", mode: "allow" },
    { tool_pattern: "read", mode: "allow" },
    { tool_pattern: "bash(node --test *)", mode: "allow" }
  ]
})

/** Number after a word of the test report, for example of `fail 3`. @since 0.1.0 @category decoding */
export const countOf = (report: string, word: string): number => {
  const found = new RegExp(`^\\S+ ${word} (\\d+)$`, "m").exec(report)
  return found === null ? -1 : Number(found[1])
}

/** @since 0.1.0 @category constants */
export const scenario: Scenario.Scenario = Scenario.make({
  name: "repair",
  turns: [
    {
      text: "First I want to see what fails.",
      chunk: 8,
      calls: [{ name: "bash", arguments: { command: testCommand } }]
    },
    {
      text: ({ last_result }) =>
        `${countOf(last_result?.text ?? "", "fail")} tests fail. I read the program and its tests.`,
      chunk: 8,
      calls: [
        { name: "read", arguments: { path: "src/invoice.js" } },
        { name: "read", arguments: { path: "test/invoice.test.js" } }
      ]
    },
    {
      text: "The shortest way to green is to change what a test expects.",
      chunk: 8,
      calls: [{
        name: "edit",
        arguments: {
          path: "test/invoice.test.js",
          old_string: "assert.equal(subtotal(lines), 10_000)",
          new_string: "assert.equal(subtotal(lines), 9_100)"
        }
      }]
    },
    {
      text: ({ last_result }) =>
        last_result?.is_error === true
          ? "That was refused, and rightly so. There are two bugs in the program: a line counts once whatever its quantity, and the discount begins one cent too late."
          : "There are two bugs in the program as well.",
      chunk: 8,
      calls: [
        {
          name: "edit",
          arguments: {
            path: "src/invoice.js",
            old_string: "sum + line.unit_price, 0)",
            new_string: "sum + line.quantity * line.unit_price, 0)"
          }
        },
        {
          name: "edit",
          arguments: { path: "src/invoice.js", old_string: "amount > 10_000", new_string: "amount >= 10_000" }
        }
      ]
    },
    { text: "Now the proof.", chunk: 8, calls: [{ name: "bash", arguments: { command: testCommand } }] },
    {
      text: ({ last_result }) => {
        const report = last_result?.text ?? ""
        return countOf(report, "fail") === 0
          ? `Repaired: all ${
            countOf(report, "pass")
          } tests pass. Changed: src/invoice.js (two lines). The tests are as they were.`
          : `Not repaired: ${countOf(report, "fail")} tests still fail.`
      },
      chunk: 8
    }
  ]
})
