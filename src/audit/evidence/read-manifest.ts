import { isoTime } from '../../events/events.ts'
import { isConversationId } from '../../events/ids.ts'
import {
  field,
  listIn,
  requireThat,
  UncheckedBundleError,
  numberIn,
  optional,
  parse,
  textIn,
} from './bundle-errors.ts'
import type { Manifest, TurnsPart } from './manifest.ts'

/** A bundle's manifest in any format, with the type of each value checked. */
export interface ReadManifest extends Omit<Manifest, 'format' | 'ledger'> {
  /** True for bundle format 2, which contains the turns' events and every ledger entry. */
  readonly isSecond: boolean
  readonly ledger?: FirstPlace | SecondPlace
}

/** The only ledger entry of a bundle in format 1. */
export interface FirstPlace {
  readonly revision: number
  readonly index: number
  readonly proof: unknown
}
export type SecondPlace = NonNullable<Manifest['ledger']>

const newest = 2

export const manifestFrom = (bytes: Uint8Array): ReadManifest => {
  const value = parse(bytes)
  const isSecond = versionIn(field(value, 'format')) === newest
  const conversation = textIn(field(value, 'conversation'))
  requireThat(isConversationId(conversation), 'bundle.json names an invalid conversation id')
  const turns = isSecond ? field(value, 'turns') : { events: 0, withheld: [] }
  const place = optional(value, 'ledger')
  const ledger = place === undefined ? undefined : isSecond ? secondPlace(place) : firstPlace(place)
  const [first, last, requests] = (['first', 'last', 'requests'] as const).map((name) =>
    numberIn(field(value, name)),
  ) as [number, number, number]
  // `checkChain` compares the value, of any type, with the hash of the last event.
  const head = field(value, 'head') as string
  return {
    isSecond,
    conversation,
    first,
    last,
    head,
    requests,
    withheld: listIn(field(value, 'withheld')).map(numberIn),
    turns: turnsIn(turns),
    ...(ledger && { ledger }),
  }
}

const versionIn = (format: unknown): number => {
  const [named, version] =
    (typeof format === 'string' && /^palimpsest evidence ([1-9][0-9]{0,8})$/.exec(format)) || []
  requireThat(named !== undefined, 'bundle.json names an unknown format')
  requireThat(Number(version) <= newest, `this is ${named}: get a newer verify.py`, UncheckedBundleError)
  return Number(version)
}

const turnsIn = (turns: unknown): TurnsPart => ({
  events: numberIn(field(turns, 'events')),
  withheld: listIn(field(turns, 'withheld')).map(numberIn),
})

const firstPlace = (place: unknown): FirstPlace => ({
  revision: numberIn(field(place, 'revision')),
  index: numberIn(field(place, 'index')),
  proof: optional(place, 'proof'),
})

const secondPlace = (place: unknown): SecondPlace => {
  const entries = numberIn(field(place, 'entries'))
  const sealed = optional(place, 'sealed')
  const isTime = typeof sealed === 'string' && isoTime.test(sealed)
  requireThat(isTime, 'bundle.json does not say when the ledger was sealed')
  return { entries, sealed: String(sealed) }
}
