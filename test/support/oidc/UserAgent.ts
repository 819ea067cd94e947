/** A browser with a person before it, for the interactions of oidc-provider: cookies, redirects by hand, its forms. */
import * as Effect from "effect/Effect"

interface Cookie {
  readonly name: string
  readonly value: string
  readonly path: string
}

export interface Answers {
  /** Says no at the first form that lets one. */
  readonly deny?: boolean
  readonly user_code?: string
}

export class UserAgent {
  readonly #jar = new Map<string, Cookie>()

  async #fetch(url: URL, form?: URLSearchParams): Promise<Response> {
    const cookie = [...this.#jar.values()].filter(({ path }) => url.pathname.startsWith(path)).map(
      ({ name, value }) => `${name}=${value}`
    ).join("; ")
    const response = await fetch(url, {
      method: form === undefined ? "GET" : "POST",
      redirect: "manual",
      headers: { cookie, ...(form === undefined ? {} : { "content-type": "application/x-www-form-urlencoded" }) },
      ...(form === undefined ? {} : { body: form.toString() })
    })
    for (const line of response.headers.getSetCookie()) {
      const [pair = "", ...attributes] = line.split(/;\s*/u)
      const mark = pair.indexOf("=")
      const path = attributes.find((attribute) => /^path=/iu.test(attribute))?.slice(5) ?? "/"
      const cookie = { name: pair.slice(0, mark), value: pair.slice(mark + 1), path }
      if (cookie.value === "") this.#jar.delete(`${cookie.name} ${path}`)
      else this.#jar.set(`${cookie.name} ${path}`, cookie)
    }
    return response
  }

  /** Follows the login until it leaves the server (the address it is sent to) or shows a page without a form (its text). */
  async #visit(start: string, answers: Answers): Promise<string> {
    const { origin } = new URL(start)
    let response = await this.#fetch(new URL(start))
    let denied = false
    for (let step = 0; step < 30; step++) {
      const location = response.headers.get("location")
      if (location !== null) {
        const next = new URL(location, origin)
        if (next.origin !== origin) return next.href
        response = await this.#fetch(next)
        continue
      }
      const html = await response.text()
      const action = /<form[^>]* action="([^"]+)"/u.exec(html)?.[1]
      if (action === undefined || denied) return html
      const form = new URLSearchParams()
      for (const [, name = "", value = ""] of html.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/gu)) {
        form.set(name, value)
      }
      if (form.get("prompt") !== null) {
        if (answers.deny === true) {
          response = await this.#fetch(new URL(`${action}/abort`, origin))
          continue
        }
        if (form.get("prompt") === "login") {
          form.set("login", "somebody")
          form.set("password", "anything")
        }
      } else if (/name="user_code"/u.test(html) && form.get("user_code") === null) {
        form.set("user_code", answers.user_code ?? "")
      } else if (answers.deny === true) {
        denied = true
        form.set("abort", "yes")
      } else form.set("confirm", "yes")
      response = await this.#fetch(new URL(action, origin), form)
    }
    throw new Error("the interaction does not end")
  }

  visit(start: string, answers: Answers = {}): Effect.Effect<string> {
    return Effect.promise(() => this.#visit(start, answers))
  }
}

/** Goes where a browser would, and gives what it shows. */
export const load = (url: string): Effect.Effect<{ readonly status: number; readonly text: string }> =>
  Effect.promise(async () => {
    const response = await fetch(url, { redirect: "manual" })
    return { status: response.status, text: await response.text() }
  })
