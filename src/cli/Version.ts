/**
 * The version of this program, put in by the build.
 *
 * @since 0.1.0
 */
declare const __HANZO_VERSION__: string | undefined

/** `0.0.0` when the sources run unbuilt. @since 0.1.0 @category constants */
export const version: string = typeof __HANZO_VERSION__ === "string" ? __HANZO_VERSION__ : "0.0.0"
