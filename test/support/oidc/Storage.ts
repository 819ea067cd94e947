/** What oidc-provider keeps, in memory; a test may let things expire without waiting for it. */

interface Payload {
  exp?: number
  consumed?: number
  readonly grantId?: string
  readonly userCode?: string
  readonly uid?: string
}

const grantable = new Set(["AccessToken", "AuthorizationCode", "RefreshToken", "DeviceCode"])

export class Storage {
  readonly #models = new Map<string, Map<string, Payload>>()

  #of(model: string): Map<string, Payload> {
    const found = this.#models.get(model) ?? new Map<string, Payload>()
    this.#models.set(model, found)
    return found
  }

  /** Everything of this kind has been there too long: it is found, and its time is over. */
  expire(model: string): void {
    for (const payload of this.#of(model).values()) payload.exp = 1
  }

  /** The `adapter` of the provider's settings. */
  readonly adapter = (model: string) => {
    const entries = this.#of(model)
    const by = (test: (payload: Payload) => boolean) => Promise.resolve([...entries.values()].find(test))
    return {
      upsert: (id: string, payload: Payload) => Promise.resolve(void entries.set(id, { ...payload })),
      find: (id: string) => Promise.resolve(entries.get(id)),
      findByUserCode: (code: string) => by(({ userCode }) => userCode === code),
      findByUid: (wanted: string) => by(({ uid }) => uid === wanted),
      consume: (id: string) => {
        const payload = entries.get(id)
        if (payload !== undefined) payload.consumed = 1
        return Promise.resolve()
      },
      destroy: (id: string) => Promise.resolve(void entries.delete(id)),
      revokeByGrantId: (grant: string) => {
        for (const kind of grantable) {
          for (const [id, { grantId }] of this.#of(kind)) if (grantId === grant) this.#of(kind).delete(id)
        }
        return Promise.resolve()
      }
    }
  }
}
