/**
 * Where a session works.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"

/** Absolute, canonical paths. @since 0.1.0 @category models */
export interface WorkspaceService {
  /** Project root (reading 4.1): given directory, git top level, nearest `.hanzo/settings.json`, or the directory itself. */
  readonly root: string
  /** Where relative paths of the user and `bash` start; inside `root`. */
  readonly cwd: string
}

/** @since 0.1.0 @category services */
export class Workspace extends Context.Tag("@hanzo/dev/domain/Workspace")<Workspace, WorkspaceService>() {}
