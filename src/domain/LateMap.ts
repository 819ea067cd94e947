/**
 * A map that is made when somebody first reads it.
 *
 * @since 0.1.0
 */
import { once } from "./Once.ts"

class LateMap<K, V> implements ReadonlyMap<K, V> {
  private readonly whole: () => ReadonlyMap<K, V>
  private readonly known: ReadonlyMap<K, V>

  constructor(make: () => ReadonlyMap<K, V>, known: ReadonlyMap<K, V>) {
    this.whole = once(make)
    this.known = known
  }

  get size(): number {
    return this.whole().size
  }

  get(key: K): V | undefined {
    return this.known.get(key) ?? this.whole().get(key)
  }

  has(key: K): boolean {
    return this.known.has(key) || this.whole().has(key)
  }

  forEach(use: (value: V, key: K, map: ReadonlyMap<K, V>) => void): void {
    for (const [key, value] of this.whole()) use(value, key, this)
  }

  entries(): MapIterator<[K, V]> {
    return this.whole().entries()
  }

  keys(): MapIterator<K> {
    return this.whole().keys()
  }

  values(): MapIterator<V> {
    return this.whole().values()
  }

  [Symbol.iterator](): MapIterator<[K, V]> {
    return this.whole().entries()
  }
}

/**
 * `make` runs once, at the first question that `known`, a part of what it makes, does not answer.
 *
 * @since 0.1.0
 * @category constructors
 */
export const lateMap = <K, V>(
  make: () => ReadonlyMap<K, V>,
  known: ReadonlyMap<K, V> = new Map()
): ReadonlyMap<K, V> => new LateMap(make, known)
