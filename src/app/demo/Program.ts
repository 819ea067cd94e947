/**
 * The program that the demo repairs: a small shop's invoice with a real bug and the tests that show it.
 *
 * @since 0.1.0
 */

/** File name to content. @since 0.1.0 @category constants */
export const files: Readonly<Record<string, string>> = {
  "package.json": `{
  "name": "invoice",
  "private": true,
  "type": "module",
  "scripts": { "test": "node --test" }
}
`,
  "src/invoice.js": `/** Amounts are whole cents. A line is {name, quantity, unit_price}. */
export const subtotal = (lines) =>
  lines.reduce((sum, line) => sum + line.unit_price, 0)

/** Ten per cent off from 100.00 upwards. */
export const discount = (amount) => amount > 10_000 ? Math.round(amount * 0.1) : 0

export const total = (lines) => {
  const amount = subtotal(lines)
  return amount - discount(amount)
}
`,
  "test/invoice.test.js": `import assert from "node:assert/strict"
import test from "node:test"
import { discount, subtotal, total } from "../src/invoice.js"

const lines = [
  { name: "tea", quantity: 3, unit_price: 450 },
  { name: "pot", quantity: 1, unit_price: 8_650 }
]

test("a line counts as often as its quantity says", () => {
  assert.equal(subtotal(lines), 10_000)
})

test("the discount begins at exactly 100.00", () => {
  assert.equal(discount(10_000), 1_000)
  assert.equal(discount(9_999), 0)
})

test("the total is what is left", () => {
  assert.equal(total(lines), 9_000)
})
`
}
