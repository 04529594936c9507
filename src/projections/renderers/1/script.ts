import type { Block } from '../../../events/blocks.ts'
import { freeze } from '../../../events/freeze.ts'
import { beginnings } from '../../memo.ts'
import type { Effective, Item } from '../../effective.ts'
import type { HistoryLayout } from '../../layout.ts'
import type { Place } from './breakpoints.ts'
import type { Repair } from './repairs.ts'
import { prefixUnchanged } from './thinking.ts'
import { type Transcript, transcript } from './transcript.ts'
import { utterancesIn } from './utterances.ts'

/** What a history says, message by message. */
export interface Script {
  readonly script: Transcript
  readonly repairs: readonly Repair[]
  /** The end of the newest summary, if it is shown. */
  readonly summary: Place | undefined
}

interface Begun {
  readonly systemMessages: boolean
  readonly notes: boolean
  layout: HistoryLayout
  readonly unchanged: (item: Item) => boolean
  readonly script: Transcript
  readonly repairs: Repair[]
  /** How many items are written. */
  length: number
  end: End | undefined
}
/** The place and the last block of the newest summary, if it is shown. */
interface End {
  readonly place: Place
  readonly block: Block | undefined
}

// A history that grows keeps its items, and a transcript only adds at its end, so what was written of a history's beginning is continued.
const scripts = beginnings<Item, Begun>()

/** @param notes with a note in place of each truncation */
export const scriptOf = (effective: Effective, systemMessages: boolean, notes: boolean): Script => {
  const { script, repairs, end } = written(effective, systemMessages, notes, effective.items.length)
  const [message, at] = end?.place ?? [0, 0]
  // It may have been left out since.
  const isThere = end && script.messages[message]?.content[at] === end.block
  return { script, repairs, summary: isThere ? end.place : undefined }
}

/** Writes at least a history's first `length` items, unless they are written already. */
export const written = (
  effective: Effective,
  systemMessages: boolean,
  notes: boolean,
  length: number,
): Begun => {
  const { items, layout } = effective
  const before = scripts.of(items)
  const isBeginning =
    before !== undefined &&
    before.made.systemMessages === systemMessages &&
    before.made.notes === notes &&
    before.shared >= before.made.length &&
    isAlike(before.made.layout, layout)
  const script = isBeginning ? before.made : begin(effective, systemMessages, notes)
  script.layout = layout
  scripts.keep(items, script)
  for (; script.length < length; script.length++) write(script, items[script.length] as Item)
  return script
}

const write = (into: Begun, item: Item): void => {
  const { script, systemMessages, notes } = into
  const unchanged = into.unchanged(item) && isAsSent(item, systemMessages)
  for (const utterance of utterancesIn(item, unchanged, notes)) {
    script.say(utterance)
    if (utterance.summary) into.end = endOf(script, item)
  }
}

/** Whether a reply answers a request that showed system messages as this one does, as far as its receipt tells. */
const isAsSent = (item: Item, systemMessages: boolean): boolean => {
  const sent = item.kind === 'message' ? item.origin?.context?.options : undefined
  return !sent || (sent['systemMessages'] === true) === systemMessages
}

const begin = (effective: Effective, systemMessages: boolean, notes: boolean): Begun => {
  const repairs: Repair[] = []
  return {
    systemMessages,
    notes,
    layout: effective.layout,
    unchanged: prefixUnchanged(effective),
    script: transcript(systemMessages, (kind, position, detail) =>
      repairs.push(freeze({ kind, position, detail })),
    ),
    repairs,
    length: 0,
    end: undefined,
  }
}

const isAlike = (layout: HistoryLayout, now: HistoryLayout): boolean =>
  layout === now ||
  (layout.promptSince === now.promptSince &&
    layout.restored.length === now.restored.length &&
    layout.restored.every(({ after, before }, index) => {
      const span = now.restored[index]
      return span?.after === after && span.before === before
    }))

/** The end of an item in the last message; undefined if nothing of it is shown there. */
const endOf = ({ messages }: Transcript, { position }: Item): End | undefined => {
  const last = messages.at(-1)
  if (last?.until !== position) return undefined
  return { place: [messages.length - 1, last.content.length - 1], block: last.content.at(-1) }
}
