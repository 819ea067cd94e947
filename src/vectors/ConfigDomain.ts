/**
 * The domain `config`: settings of several tiers in, what they come to out (readings 4 and 18.6).
 *
 * @since 0.1.0
 */
import { evaluate, type FileTier, fileTiers } from "../config/ConfigVectors.ts"
import { badRequest, base64, type Domain, type Fields, fields, flag, isFields } from "./Domain.ts"

const bytesOf = (value: unknown, where: string): Uint8Array =>
  typeof value === "string"
    ? new TextEncoder().encode(value)
    : base64(fields(value, where)["base64"], `${where}.base64`)

const filesOf = (value: unknown): ReadonlyMap<FileTier, Uint8Array> => {
  const given = value === undefined ? {} : fields(value, "input.files")
  for (const name of Object.keys(given)) {
    if (!fileTiers.some((tier) => tier === name)) throw badRequest(`input.files.${name} is no tier with a file`)
  }
  return new Map(
    fileTiers.flatMap((tier) =>
      given[tier] === undefined ? [] : [[tier, bytesOf(given[tier], `input.files.${tier}`)] as const]
    )
  )
}

const textsOf = (value: Fields): ReadonlyMap<string, string> =>
  new Map(
    Object.entries(value).map(([name, text]) => {
      if (typeof text !== "string") throw badRequest(`input.env.${name} must be a string`)
      return [name, text]
    })
  )

/** @since 0.1.0 @category constructors */
export const config: Domain = (value) => {
  const input = fields(value, "input")
  const { env = {}, flags = {} } = input
  if (!isFields(env)) throw badRequest("input.env must be an object")
  if (!isFields(flags)) throw badRequest("input.flags must be an object")
  return {
    output: evaluate({
      files: filesOf(input["files"]),
      env: textsOf(env),
      flags,
      trusted: flag(input["trusted"], "input.trusted", false)
    })
  }
}
