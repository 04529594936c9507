import type { ConversationEvent, Workspace } from '../events/events.ts'

/** State of the files at a moment of a conversation, and the position of the event with which it was recorded. */
export interface WorkspaceAt {
  readonly workspace: Workspace
  readonly position: number
}

/**
 * Returns the state of the files at the end of a path, as the last event with a recorded state tells it; undefined if there is none.
 *
 * @param path events on the path, ascending
 */
export const workspaceOf = (path: readonly ConversationEvent[]): WorkspaceAt | undefined => {
  for (let index = path.length - 1; index >= 0; index--) {
    const { metadata, position } = path[index] ?? {}
    if (metadata?.workspace && position !== undefined) return { workspace: metadata.workspace, position }
  }
  return undefined
}

/** Reports whether two states of the files are the same, as far as they were recorded. */
export const isSameWorkspace = (one: Workspace | undefined, other: Workspace | undefined): boolean =>
  one?.commit === other?.commit && one?.dirty === other?.dirty

/** Describes the state of the files, with a short hash. */
export const workspaceText = ({ commit, dirty }: Workspace): string =>
  `${commit.slice(0, 7)}${dirty ? ', with changes that were not committed' : ''}`

/** Returns the command that brings the files to a recorded commit. It first puts changes aside that are not committed. */
export const checkoutCommand = ({ commit }: Workspace): string =>
  `git stash && git switch --detach ${commit.slice(0, 12)}`
