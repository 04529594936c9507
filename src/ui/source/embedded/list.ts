import { type ConversationEvent, foundIn, type Log } from '../../../core.ts'
import type { EmbeddedFile } from './form.ts'
import { titleOf } from './title.ts'

// List of an embedded file, in the format of the server's list: its only conversation, if the query matches it.

const traits: Readonly<Record<string, ConversationEvent['type']>> = {
  condensed: 'Condensed',
  truncated: 'Truncated',
  rewound: 'Rewound',
  restored: 'Restored',
  forked: 'Forked',
}

const isSaidIn = (log: Log, text: string): boolean => log.some((event) => foundIn(event, text))

const isBy = ({ metadata: { actor } }: ConversationEvent, name: string): boolean =>
  actor.kind === name || actor.id === name

const isOf = ({ type, data }: ConversationEvent, model: string): boolean =>
  type === 'Configured'
    ? data.model === model
    : (type === 'MessageAppended' || type === 'Condensed') && data.origin?.model === model

const conditions: Readonly<Record<string, (file: EmbeddedFile, wanted: string) => boolean>> = {
  q: (file, text) =>
    [file.conversation, titleOf(file) ?? ''].some((name) => foundIn(name, text)) ||
    isSaidIn(file.events, text),
  beginning: ({ conversation }, text) => conversation.startsWith(text),
  has: ({ events }, names) =>
    names.split(',').every((name) => events.some(({ type }) => type === traits[name])),
  actor: ({ events }, name) => events.some((event) => isBy(event, name)),
  status: ({ facts }, names) => names.split(',').includes(facts?.status ?? 'idle'),
  errors: ({ facts }) => (facts?.errors ?? 0) > 0,
  model: ({ events }, name) => events.some((event) => isOf(event, name)),
}

/** Returns the list's row of the file's only conversation. */
export const rowOf = ({ answers, facts }: EmbeddedFile): object => ({
  ...(answers['/conversations'] as { readonly items: readonly object[] }).items[0],
  ...facts,
})

/** Filters the list of an embedded file, which has one conversation, by a query. */
export const filterList = (file: EmbeddedFile, query: URLSearchParams): object => {
  const isIn = Object.entries(conditions).every(([name, isMet]) => {
    const wanted = query.get(name)
    return wanted === null || wanted === '' || isMet(file, wanted)
  })
  const items = isIn ? [rowOf(file)] : []
  return { isComplete: true, items, total: 1, matching: items.length }
}
