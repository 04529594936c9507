import type { Covers } from '../events/events.ts'
import type { EventKind } from '../projections/columns.ts'
import { type Facts, isMessage } from './facts.ts'

// What is shown at every position of a conversation at once. Each position has a list, and the lists share what they have in common, as
// a message only adds an element to the list before it. So a rewind takes up an earlier list, and a fork begins with one of its parent's.

/** How many messages there are among what a marker hides at all levels, of which kinds all of it is, and which tools it calls. */
export interface Tally {
  readonly messages: number
  readonly kinds: Readonly<Partial<Record<EventKind, number>>>
  readonly tools: Readonly<Record<string, number>>
}

/** A message or marker that is shown. */
export interface Piece {
  readonly position: number
  readonly kind: EventKind
  readonly own: number
  readonly tools: readonly string[]
  /** Only of markers. */
  readonly hides?: Tally
  readonly covers?: Covers | undefined
}

/** The last piece of a list, and the list before it. */
export interface Shown {
  readonly before: Shown | undefined
  readonly piece: Piece
  /** Tokens of the whole list. */
  readonly tokens: number
}

/** A configuration on the path, with the tokens of its system prompt and tools, and the one that it replaced. */
export interface Prompt {
  readonly position: number
  readonly tokens: number
  readonly before: Prompt | undefined
}

/** What is shown right after a position, and the configuration in force there. */
export interface Moment {
  readonly shown: Shown | undefined
  readonly prompt: Prompt | undefined
}

/** The moments of a conversation's own events, by revision; those before them are its parent's. */
export interface Weave {
  readonly offset: number
  readonly parent: Weave | undefined
  readonly moments: Moment[]
}

const beginning: Moment = { shown: undefined, prompt: undefined }

/** What is shown right after a position, which is there, or is -1. */
export const momentAt = (weave: Weave, position: number): Moment => {
  let own: Weave | undefined = weave
  while (own && position < own.offset) own = own.parent
  return own?.moments[position - own.offset] ?? beginning
}

/** Tokens of what the model sees. */
export const tokensOf = ({ shown, prompt }: Moment): number => (shown?.tokens ?? 0) + (prompt?.tokens ?? 0)

/** Takes the next event, and returns the moment after it. As total as `evolve`: what is not shown cannot be hidden. */
export const weaveIn = (weave: Weave, facts: Facts): Moment => {
  const moment = after(weave, facts, momentAt(weave, facts.position - 1))
  weave.moments.push(moment)
  return moment
}

const after = (weave: Weave, facts: Facts, before: Moment): Moment => {
  const { kind, own, target = -1 } = facts
  if (isMessage(kind)) return { shown: add(before.shown, facts), prompt: before.prompt }
  switch (kind) {
    case 'C':
    case 'T':
      return hide(before, facts)
    case 'R':
      return restore(weave, before, target)
    case 'W':
      return momentAt(weave, target)
    case 'K':
      return { ...before, prompt: { position: facts.position, tokens: own, before: before.prompt } }
    case '-':
      return before
  }
}

const add = (before: Shown | undefined, piece: Piece): Shown => ({
  before,
  piece,
  tokens: (before?.tokens ?? 0) + piece.own,
})

/** A list in three: what is before a slice, the slice, and what is after it, both oldest first. */
interface Cut {
  readonly before: Shown | undefined
  readonly slice: readonly Piece[]
  readonly after: readonly Piece[]
}

/** Undefined if the slice is not shown. */
const cut = (shown: Shown | undefined, { first, last }: Covers): Cut | undefined => {
  const later: Piece[] = []
  const slice: Piece[] = []
  for (let at = shown; at; at = at.before) {
    const isIn = slice.length > 0 || at.piece.position === last
    ;(isIn ? slice : later).push(at.piece)
    if (isIn && at.piece.position === first)
      return { before: at.before, slice: slice.toReversed(), after: later.toReversed() }
  }
  return undefined
}

const spliced = ({ before, after: later }: Cut, by: readonly Piece[]): Shown | undefined =>
  [...by, ...later].reduce<Shown | undefined>(add, before)

const hide = (moment: Moment, { position, kind, own, covers = none }: Facts): Moment => {
  const parts = cut(moment.shown, covers)
  if (!parts) return moment
  const marker: Piece = { position, kind, own, tools: [], covers, hides: tallyOf(parts.slice) }
  return { ...moment, shown: spliced(parts, [marker]) }
}
const none: Covers = { first: -1, last: -1 }

const restore = (weave: Weave, moment: Moment, marker: number): Moment => {
  const parts = cut(moment.shown, { first: marker, last: marker })
  const covers = parts?.slice[0]?.covers
  const hidden = covers && cut(momentAt(weave, marker - 1).shown, covers)
  return parts && hidden ? { ...moment, shown: spliced(parts, hidden.slice) } : moment
}

const tallyOf = (pieces: readonly Piece[]): Tally => {
  const kinds: Partial<Record<EventKind, number>> = {}
  const tools: Record<string, number> = Object.create(null) as Record<string, number>
  let messages = 0
  for (const { kind, tools: called, hides } of pieces) {
    kinds[kind] = (kinds[kind] ?? 0) + 1
    messages += (isMessage(kind) ? 1 : 0) + (hides?.messages ?? 0)
    for (const name of called) tools[name] = (tools[name] ?? 0) + 1
    for (const [name, count] of Object.entries(hides?.tools ?? {})) tools[name] = (tools[name] ?? 0) + count
    for (const [name, count] of Object.entries(hides?.kinds ?? {}) as [EventKind, number][])
      kinds[name] = (kinds[name] ?? 0) + count
  }
  return { messages, kinds, tools }
}
