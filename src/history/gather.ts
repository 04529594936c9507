import * as E from 'fp-ts/lib/Either.js'
import type { ConversationCommand } from '../commands/command.ts'
import { beginsTurn, type Named, type State, type AppendState } from '../commands/state.ts'
import { type ConversationEvent, type EventType, START } from '../events/events.ts'
import type { Loaded } from './load.ts'
import { loadEffective } from './load.ts'
import type { StoreError } from '../store/errors.ts'
import { eventAt, pages, type Reader, resolveAt, walkBack } from './reader.ts'

/** What an append is decided on, read from a store. */
export const gatherAppendState = async (
  reading: Reader,
  conversation: string,
  last: number,
  { after, tolerate }: ConversationCommand,
): Promise<E.Either<StoreError, AppendState>> => {
  const since: EventType[] = []
  try {
    if (after !== undefined && tolerate !== undefined)
      for await (const page of pages(reading, after + 1, last)) since.push(...page.map(({ type }) => type))
  } catch (error) {
    return E.left(error as StoreError)
  }
  return E.right({ conversation, last, since })
}

/** What a command is decided on, read from a store piece by piece. Equal to `stateOf` the whole log (a property test). */
export const gatherState = async (
  reading: Reader,
  append: AppendState,
  command: ConversationCommand,
): Promise<E.Either<StoreError, State>> => {
  const { last } = append
  const loaded = await loadEffective(reading, last)
  if (E.isLeft(loaded)) return loaded
  const lastEvent = await eventAt(reading, last)()
  if (E.isLeft(lastEvent)) return lastEvent
  const named = await gatherNamed(reading, last, command, loaded.right)
  return E.map((found: Named) => ({ ...append, ...loaded.right, lastEvent: lastEvent.right, named: found }))(
    named,
  )
}

const gatherNamed = async (
  reading: Reader,
  last: number,
  command: ConversationCommand,
  { effective }: Loaded,
): Promise<E.Either<StoreError, Named>> => {
  switch (command.type) {
    case 'restore':
      return replacedBy(
        reading,
        command.marker,
        effective.items.map(({ position }) => position),
      )
    case 'undo':
      return headAt(reading, Math.max(START, last - 1))
    case 'rewind': {
      const { to, before, turns } = command
      if (to !== undefined) return headAt(reading, Math.min(to, last))
      const event =
        before === undefined ? await turnStart(reading, last, turns ?? 1) : await eventAt(reading, before)()
      if (E.isLeft(event)) return event
      if (!event.right) return E.right({})
      const head = await headAt(reading, event.right.position - 1)
      return E.map((found: Named) => ({ ...found, event: event.right }))(head)
    }
    case 'append':
    case 'configure':
    case 'condense':
    case 'truncate':
      return E.right({})
  }
}

const headAt = async (reading: Reader, position: number): Promise<E.Either<StoreError, Named>> =>
  E.map((head: number) => ({ head }))(await resolveAt(reading, position))

/** The message that began the n-th last turn of the user on the path, undefined if there were fewer. */
const turnStart = async (
  reading: Reader,
  last: number,
  n: number,
): Promise<E.Either<StoreError, ConversationEvent | undefined>> => {
  let turns = 0
  let found: ConversationEvent | undefined
  const walked = await walkBack(reading, last, 0, (event) => {
    if (beginsTurn(event) && ++turns === n) found = event
    return found !== undefined
  })
  return E.map(() => found)(walked)
}

/** The slots that a visible marker stands for: the slice that it covers of what was shown right before it. */
export const replacedBy = async (
  reading: Reader,
  marker: number,
  visible: readonly number[],
): Promise<E.Either<StoreError, Named>> => {
  if (!visible.includes(marker)) return E.right({})
  const event = await eventAt(reading, marker)()
  if (E.isLeft(event)) return event
  if (event.right?.type !== 'Condensed' && event.right?.type !== 'Truncated') return E.right({})
  const { first, last } = event.right.data.covers
  const before = await loadEffective(reading, marker - 1)
  return E.map(({ effective: { outline } }: Loaded) => {
    const positions = outline.slots.map(({ position }) => position)
    return { replaced: outline.slots.slice(positions.indexOf(first), positions.indexOf(last) + 1) }
  })(before)
}
