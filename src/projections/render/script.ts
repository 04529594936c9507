import type { Block } from '../../events/blocks.ts'
import { freeze } from '../../events/freeze.ts'
import { beginnings } from '../memo.ts'
import type { Effective, Item } from '../effective.ts'
import type { HistoryLayout } from '../layout.ts'
import type { PartPosition } from './breakpoints.ts'
import type { Repair } from './repairs.ts'
import { prefixUnchanged } from './thinking.ts'
import { type Transcript, transcript } from './transcript.ts'
import { utterancesIn } from './utterances.ts'

/** A history written as the messages of a request, with the repairs made. */
export interface Script {
  readonly script: Transcript
  readonly repairs: readonly Repair[]
  /** Position of the end of the newest summary in the request, if the summary is shown. */
  readonly summary: PartPosition | undefined
}

interface Begun {
  readonly systemMessages: boolean
  readonly notes: boolean
  layout: HistoryLayout
  readonly unchanged: (item: Item) => boolean
  readonly script: Transcript
  readonly repairs: Repair[]
  /** True if a system message with fields was written, which renderer 1 left out. */
  hasFields: boolean
  /** Number of items written so far. */
  length: number
  end: End | undefined
}
/** The end of the newest summary in the request: its position and its last block. */
interface End {
  readonly place: PartPosition
  readonly block: Block | undefined
}

// A growing history keeps its items, and a transcript is only appended to, so the transcript of a beginning can be continued.
const scripts = beginnings<Item, Begun>()

/**
 * Returns the messages of a history, continuing the cached messages of its beginning if possible.
 *
 * @param notes true to add a note in place of each truncation
 */
export const scriptOf = (effective: Effective, systemMessages: boolean, notes: boolean): Script => {
  const { script, repairs, end } = writeItems(effective, systemMessages, notes, effective.items.length)
  const [message, at] = end?.place ?? [0, 0]
  // The summary may have been left out since it was written.
  const isThere = end && script.messages[message]?.content[at] === end.block
  return { script, repairs, summary: isThere ? end.place : undefined }
}

/** Writes at least the first `length` items of a history, except items that were already written. */
export const writeItems = (
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
  const unchanged = into.unchanged(item) && isAsSent(item, into)
  for (const utterance of utterancesIn(item, unchanged, notes)) {
    script.say(utterance)
    into.hasFields ||= systemMessages && utterance.role === 'system' && utterance.fields !== undefined
    if (utterance.summary) into.end = endOf(script, item)
  }
}

/**
 * Reports whether a reply's receipt shows that its request contained system messages in the same form as this request. Returns true
 * without a receipt.
 */
const isAsSent = (item: Item, { systemMessages, hasFields }: Begun): boolean => {
  const sent = item.kind === 'message' ? item.origin?.context?.options : undefined
  if (!sent) return true
  return (sent['systemMessages'] === true) === systemMessages && !(hasFields && sent['renderer'] === 1)
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
    hasFields: false,
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

/** Returns the end of an item in the last message; undefined if no part of the item is shown there. */
const endOf = ({ messages }: Transcript, { position }: Item): End | undefined => {
  const last = messages.at(-1)
  if (last?.until !== position) return undefined
  return { place: [messages.length - 1, last.content.length - 1], block: last.content.at(-1) }
}
