import * as E from 'fp-ts/lib/Either.js'
import { isBlock } from '../events/blocks.ts'
import { type ConversationEvent, contentOf } from '../events/events.ts'
import { conversationOf, streamOf } from '../events/ids.ts'
import { readEnding } from './ends.ts'
import type { ReadError } from './errors.ts'
import { toError } from './errors.ts'
import { openedAt } from './log.ts'
import { type EventStore, maxPage } from './port.ts'
import { eventAt } from './reader.ts'

/** A conversation at a glance. */
export interface Overview {
  readonly id: string
  /** The beginning of the first words of the user, on one line; empty if there are none near the start. */
  readonly title: string
  /** Messages ever appended to its lineage, rewound ones included. */
  readonly messages: number
  /** Events of its lineage. */
  readonly events: number
  /** When the last event was recorded, ISO 8601. */
  readonly updated: string
  /** Why the conversation cannot be read; then the other fields are empty. One that is damaged hides none of the others. */
  readonly problem?: string
}

const titleLength = 80
/** How far into a conversation its title is looked for, in events. */
const titleWithin = 20

/** How many conversations are looked at side by side: a store may be far away. */
const atOnce = 16

/** All conversations of a store, by id. Iteration throws a `StoreError`. */
export async function* overviews(store: EventStore): AsyncGenerator<Overview, void> {
  for (let after = ''; ;) {
    const names = await store.streams(streamOf(''), after, maxPage)()
    if (E.isLeft(names)) throw toError(names.left)
    for (let next = 0; next < names.right.length; next += atOnce) {
      const ids = names.right.slice(next, next + atOnce).map((name) => conversationOf(name) ?? name)
      for (const overview of await Promise.all(ids.map((id) => overviewOrProblem(store, id)))) {
        if (E.isLeft(overview)) throw toError(overview.left)
        if (overview.right) yield overview.right
      }
    }
    const last = names.right.at(-1)
    if (last === undefined) return
    after = last
  }
}

/** Whether an error is about the conversation, not about the store. */
const isItsOwn = ({ _tag }: ReadError): boolean => itsOwn.has(_tag)
const itsOwn: ReadonlySet<ReadError['_tag']> = new Set([
  'DecodeFailed',
  'ConversationNotFound',
  'HistoryLost',
  'BlobMissing',
  'BlobDamaged',
])

type Result = Promise<E.Either<ReadError, Overview | undefined>>

const overviewOrProblem = async (store: EventStore, id: string): Result => {
  const overview = await overviewOf(store, id)
  return E.isLeft(overview) && isItsOwn(overview.left)
    ? E.right({ id, title: '', messages: 0, events: 0, updated: '', problem: overview.left.message })
    : overview
}

/** Undefined of a conversation that is being imported: it is not there yet. */
const overviewOf = async (store: EventStore, id: string): Result => {
  const ending = await readEnding(store, id)
  if (E.isLeft(ending)) return ending
  if (ending.right.unfinished && !ending.right.last) return E.right(undefined)
  const opened = openedAt(store, id, ending.right)
  if (E.isLeft(opened)) return opened
  const { reading, lineage, last } = opened.right
  const beginning = await reading.page(0, titleWithin - 1, 'forwards')
  if (E.isLeft(beginning)) return beginning
  const newest = await eventAt(reading, last)()
  if (E.isLeft(newest)) return newest
  let messages = 0
  for (const { stream, offset, last: end } of lineage) {
    const counted = await store.count(stream, 'MessageAppended', Math.min(end, last) - offset)()
    if (E.isLeft(counted)) return counted
    messages += counted.right
  }
  const updated = newest.right?.metadata.time ?? ''
  return E.right({ id, title: titleOf(beginning.right), messages, events: last + 1, updated })
}

const titleOf = (events: readonly ConversationEvent[]): string => {
  const texts = events
    .flatMap(contentOf)
    .filter(({ role }) => role === 'user')
    .flatMap(({ content }) => content.flatMap((block) => (isBlock(block, 'text') ? [block.text] : [])))
  const line = (texts.find((text) => text.trim() !== '') ?? '').replace(/\s+/g, ' ').trim()
  return line.length > titleLength ? `${line.slice(0, titleLength - 1).toWellFormed()}…` : line
}
