import { type FileChange, gitChanges } from '../api/git-workspace.ts'
import type { ConversationEvent, RewindInput } from '../index.ts'
import { checkoutCommand, type WorkspaceAt, workspaceOf, workspaceText } from '../projections/workspace.ts'
import { pathAt } from './client-session.ts'
import type { CommandSession } from './shell.ts'
import { plural, rangesText } from './text.ts'
import { eventParts } from './views/timeline.ts'

/** Maximum number of events and of files that are listed. */
const mostListed = 20

/** Prints what a rewind would abandon, and how the files differ from those at its target. Changes nothing. */
export const previewRewind = async (
  { store, out, isJson }: CommandSession,
  id: string,
  options: RewindInput,
): Promise<void> => {
  const chat = store.conversation(id)
  const { events, position: from } = await chat.preview({ ...options, type: 'rewind' })
  const [rewound] = events
  if (rewound?.type !== 'Rewound') return
  const { to } = rewound.data
  const now = await pathAt(chat, from)
  const then = to < 0 ? [] : await pathAt(chat, to)
  const left = without(now, then)
  const again = without(then, now)
  const files = workspaceOf(then)
  const differing = files && (await gitChanges('.', files.workspace.commit))
  if (isJson)
    return out.json({
      conversation: chat.id,
      to,
      abandons: left.map(({ position }) => position),
      shows: again.map(({ position }) => position),
      ...(files && { workspace: files.workspace }),
      ...(differing && { files: differing.changes }),
    })
  await out.line([`would rewind ${to < 0 ? 'to the empty conversation' : `to ${to}`}`, 'bold'])
  await out.line([`abandons ${plural(left.length, 'event')}`])
  for (const event of left.slice(0, mostListed)) await out.parts(eventParts(event))
  if (left.length > mostListed) await out.line([`       and ${left.length - mostListed} more`, 'dim'])
  if (again.length > 0)
    await out.line([`shows ${plural(again.length, 'event')} again: ${rangesText(positionsOf(again))}`])
  for (const line of fileLines(files, differing)) await out.line([line])
}

const positionsOf = (events: readonly ConversationEvent[]): number[] => events.map(({ position }) => position)

/** Returns the events that the other path does not have. */
const without = (
  path: readonly ConversationEvent[],
  other: readonly ConversationEvent[],
): readonly ConversationEvent[] => {
  const positions = new Set(positionsOf(other))
  return path.filter(({ position }) => !positions.has(position))
}

const fileLines = (
  files: WorkspaceAt | undefined,
  differing: Awaited<ReturnType<typeof gitChanges>>,
): readonly string[] => {
  if (!files) return ['where the files were at that position was not recorded']
  const { workspace } = files
  const were = `the files were at ${workspaceText(workspace)}: ${checkoutCommand(workspace)}`
  if (!differing) return [were, 'git does not find this commit in this folder']
  const { changes, isCut } = differing
  if (changes.length === 0) return [were, 'the files here are as in this commit']
  const isMore = isCut || changes.length > mostListed
  return [
    were,
    'files here that differ from this commit:',
    ...changes.slice(0, mostListed).map(changeText),
    ...(isMore ? [isCut ? '  and more' : `  and ${changes.length - mostListed} more`] : []),
  ]
}

const changeText = ({ path, added, removed }: FileChange): string =>
  `  ${path}  ${added === null ? 'binary' : `+${added} -${removed}`}`
