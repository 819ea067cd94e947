/**
 * A value made when it is first asked for: schemas and tables that most starts of a program never use.
 *
 * @since 0.1.0
 */

/** @since 0.1.0 @category constructors */
export const once = <A>(make: () => A): () => A => {
  let made: { readonly value: A } | undefined
  return () => (made ??= { value: make() }).value
}
