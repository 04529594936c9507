import type { Block } from '../../events/blocks.ts'
import { freeze } from '../../events/freeze.ts'
import type { Effective, Item } from '../effective.ts'
import type { Outline } from '../outline.ts'
import { sharedBeginning } from '../remembering.ts'
import type { Place } from './cache.ts'
import type { Repair } from './repairs.ts'
import { prefixUnchanged } from './thinking.ts'
import { type Transcript, transcript } from './transcript.ts'
import { utterancesIn } from './utterances.ts'

/** What a history says, message by message. */
export interface Script {
  readonly script: Transcript
  readonly repairs: readonly Repair[]
  /** Where the newest summary ends, if it is shown. */
  readonly summary: Place | undefined
}

interface Begun {
  readonly systemMessages: boolean
  readonly notes: boolean
  readonly outline: Outline
  readonly unchanged: (item: Item) => boolean
  readonly script: Transcript
  readonly repairs: Repair[]
  /** What is written so far. */
  items: readonly Item[]
  end: End | undefined
}
/** Where the newest summary ends, and with which block, if it is shown. */
interface End {
  readonly place: Place
  readonly block: Block | undefined
}

// A history that goes on keeps its items, and a transcript only adds at its end: so what was written of a history's beginning is
// gone on with. By the first item, as long as anybody has that.
const begun = new WeakMap<Item, Begun>()

/** @param notes also say that messages are left out, where a truncation did it */
export const scriptOf = (effective: Effective, systemMessages: boolean, notes: boolean): Script => {
  const { items } = effective
  const [first] = items
  const before = first && begun.get(first)
  const isSame = before?.systemMessages === systemMessages && before.notes === notes
  const script =
    before && isSame && isBeginning(before, effective) ? before : begin(effective, systemMessages, notes)
  for (const item of items.slice(script.items.length))
    for (const utterance of utterancesIn(
      item,
      script.unchanged(item) && isAsSent(item, systemMessages),
      notes,
    )) {
      script.script.say(utterance)
      if (utterance.summary) script.end = endOf(script.script, item)
    }
  script.items = items
  if (first) begun.set(first, script)
  const { end } = script
  const [message, at] = end?.place ?? [0, 0]
  // What was behind it may have been left out since.
  const isThere = end && script.script.messages[message]?.content[at] === end.block
  return { script: script.script, repairs: script.repairs, summary: isThere ? end.place : undefined }
}

/** Whether a reply was the answer to a request that showed system messages as this one does; as far as its receipt tells. */
const isAsSent = (item: Item, systemMessages: boolean): boolean => {
  const sent = item.kind === 'message' ? item.origin?.context?.options : undefined
  return !sent || (sent['systemMessages'] === true) === systemMessages
}

const begin = (effective: Effective, systemMessages: boolean, notes: boolean): Begun => {
  const repairs: Repair[] = []
  return {
    systemMessages,
    notes,
    outline: effective.outline,
    unchanged: prefixUnchanged(effective),
    script: transcript(systemMessages, (kind, position, detail) =>
      repairs.push(freeze({ kind, position, detail })),
    ),
    repairs,
    items: [],
    end: undefined,
  }
}

const isBeginning = ({ items, outline }: Begun, { items: all, outline: now }: Effective): boolean =>
  outline.promptSince === now.promptSince &&
  outline.restored.length === now.restored.length &&
  outline.restored.every(({ after, before }, index) => {
    const span = now.restored[index]
    return span?.after === after && span.before === before
  }) &&
  sharedBeginning(items, all) === items.length

/** Where an item's words end, in the last message; undefined if nothing of it is shown there. */
const endOf = ({ messages }: Transcript, { position }: Item): End | undefined => {
  const last = messages.at(-1)
  if (last?.until !== position) return undefined
  return { place: [messages.length - 1, last.content.length - 1], block: last.content.at(-1) }
}
