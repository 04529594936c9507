import type { BodyOf } from '../../server/client/api.ts'
import { count, placeOf } from '../words.ts'
import type { UndoStacks } from './undo-stacks.ts'

// Commands of users on a conversation: as a draft in a sheet, as a request body, and in words. No command deletes anything.

/** User input for a command on a conversation. */
export type ActDraft =
  | { readonly act: 'rewind'; readonly to: number; readonly reason: string; readonly way?: keyof UndoStacks }
  | { readonly act: 'fork'; readonly at: number; readonly id: string }
  | { readonly act: 'condense'; readonly first: number; readonly last: number; readonly summary: string }
  | { readonly act: 'truncate'; readonly first: number; readonly last: number; readonly reason: string }
  | { readonly act: 'restore'; readonly marker: number }
export type Act = ActDraft['act']

const wayOf = (draft: ActDraft): Act | keyof UndoStacks =>
  draft.act === 'rewind' && draft.way ? draft.way : draft.act
export const titleOf = (draft: ActDraft): string => titles[wayOf(draft)]
export const titles: Readonly<Record<Act | keyof UndoStacks, string>> = {
  rewind: 'Rewind',
  fork: 'Fork',
  condense: 'Condense',
  truncate: 'Truncate',
  restore: 'Restore',
  undo: 'Undo',
  redo: 'Redo',
}

/** Describes what a command does. */
export const purposeOf = (draft: ActDraft): string => purposes[wayOf(draft)]
const purposes: Readonly<Record<Act | keyof UndoStacks, string>> = {
  rewind:
    'The conversation continues from there. What came after stays in the history, as an abandoned branch.',
  fork: 'A new conversation begins with this history. This one stays as it is.',
  condense: 'The model sees your summary in place of these messages. They stay in the history.',
  truncate: 'The model no longer sees these messages. They stay in the history.',
  restore: 'The model sees again what the marker hides. Later messages stay.',
  undo: 'The model sees the conversation again as it was before the last change. The change stays in the history.',
  redo: 'The change that was undone applies again.',
}

/** Returns a sentence that asks for the missing input; undefined if the draft is complete. */
export const lackOf = (draft: ActDraft): string | undefined => {
  switch (draft.act) {
    case 'rewind':
      return isPosition(draft.to, -1) ? undefined : 'Give a position.'
    case 'fork':
      return draft.id.trim() === '' ? 'Give the new conversation an id.' : undefined
    case 'condense':
    case 'truncate':
      if (!isPosition(draft.first) || !isPosition(draft.last)) return 'Give the first and the last position.'
      if (draft.first > draft.last) return 'The first position comes after the last.'
      if (draft.act === 'condense' && draft.summary.trim() === '')
        return 'Write what the model is to see instead.'
      return undefined
    case 'restore':
      return isPosition(draft.marker) ? undefined : 'Give the position of a marker.'
  }
}
const isPosition = (value: number, least = 0): boolean => Number.isSafeInteger(value) && value >= least

/** Returns the request body for a draft, without `commandId` and `after`. */
export const commandOf = (draft: ActDraft): BodyOf<'/conversations/{id}/commands'> => {
  switch (draft.act) {
    case 'rewind':
      return { type: 'rewind', to: draft.to, ...because(draft.reason) }
    case 'fork':
      return { type: 'fork', id: draft.id.trim(), at: draft.at }
    case 'condense':
      return { type: 'condense', covers: coversOf(draft), summary: draft.summary, method: 'manual' }
    case 'truncate':
      return { type: 'truncate', covers: coversOf(draft), ...because(draft.reason) }
    case 'restore':
      return { type: 'restore', marker: draft.marker }
  }
}
const coversOf = ({ first, last }: { readonly first: number; readonly last: number }) => ({ first, last })
const because = (reason: string) => (reason.trim() === '' ? {} : { reason: reason.trim() })

/** Describes a completed command: `Rewound to 12`. */
export const describeDone = (draft: ActDraft): string => {
  switch (draft.act) {
    case 'rewind':
      if (draft.way) return `${draft.way === 'undo' ? 'Undone' : 'Redone'}: at ${placeOf(draft.to)}`
      return `Rewound to ${placeOf(draft.to)}`
    case 'fork':
      return `Forked at ${placeOf(draft.at)}`
    case 'condense':
      return `Condensed ${draft.first}–${draft.last}`
    case 'truncate':
      return `Truncated ${draft.first}–${draft.last}`
    case 'restore':
      return `Restored what ${draft.marker} hid`
  }
}
/** Describes an event: `Rewound to 9`; `Condensed 3–8, which hides 5 messages`. */
export const eventWords = ({ type, data }: { readonly type: string; readonly data: object }): string => {
  const { to, covers, marker, messagesHidden } = data as Readonly<Record<string, unknown>>
  switch (type) {
    case 'Rewound':
      return `Rewound to ${placeOf(Number(to))}`
    case 'Condensed':
    case 'Truncated': {
      const { first, last } = covers as { readonly first: number; readonly last: number }
      return `${type} ${first}–${last}, which hides ${count(Number(messagesHidden), 'message')}`
    }
    case 'Restored':
      return `Restored ${Number(marker)}`
    default:
      return type
  }
}
