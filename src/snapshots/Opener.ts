/**
 * Files and folders whose mode keeps their owner out, opened for the time of a look.
 *
 * @since 0.1.0
 */
import { setMode } from "../platform/ByteTreeWriter.ts"

/** @since 0.1.0 @category models */
export interface Opener {
  /** Adds these bits to the mode; false = that cannot be done, as with what belongs to somebody else. */
  readonly open: (path: string, mode: number, bits: number) => boolean
  /** Every mode is as it was. */
  readonly close: () => void
}

/** @since 0.1.0 @category constructors */
export const opener = (root: string): Opener => {
  const opened: Array<readonly [path: string, mode: number]> = []
  return {
    open: (path, mode, bits) => {
      try {
        setMode(root, path, mode | bits)
      } catch {
        return false
      }
      opened.push([path, mode])
      return true
    },
    close: () => {
      // what is in a folder before the folder
      for (const [path, mode] of opened.splice(0).reverse()) {
        try {
          setMode(root, path, mode)
        } catch {
          // it is gone, or somebody else's by now
        }
      }
    }
  }
}
