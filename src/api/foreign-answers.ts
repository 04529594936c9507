import type { TypedError } from '../result/typed-error.ts'
import type { AllPage, StreamChanges, FindResult, KeptEnd, RecordedEvent } from '../store/port.ts'

// Functions that describe the fault in an answer of a user-defined store; undefined if the answer is valid. The types exclude such
// faults, but JavaScript does not enforce types. Checks that would read every byte are left to the contract in palimpsest/testing.

type Fault = string | undefined
type Fields = Readonly<Record<string, unknown>>

const isObject = (value: unknown): value is Fields => typeof value === 'object' && value !== null
const isRevision = (value: unknown): boolean => Number.isSafeInteger(value)
const isText = (value: unknown): boolean => typeof value === 'string'

export const isEither = (value: unknown): boolean =>
  isObject(value) &&
  ((value['_tag'] === 'Left' && 'left' in value) || (value['_tag'] === 'Right' && 'right' in value))

export const isTagged = (value: unknown): value is TypedError =>
  isObject(value) && isText(value['_tag']) && isText(value['message'])

const textsOf = ['stream', 'id', 'type', 'data', 'metadata', 'checkpoint']

const isRecorded = (event: unknown): boolean =>
  isObject(event) && textsOf.every((name) => isText(event[name])) && isRevision(event['revision'])

export const eventsFault = (events: readonly RecordedEvent[]): Fault =>
  Array.isArray(events) && events.every(isRecorded) ? undefined : 'which is not a list of recorded events'

export const findFault = (found: FindResult): Fault =>
  isObject(found) &&
  (found['revision'] === undefined || isRevision(found['revision'])) &&
  isRevision(found['through'])
    ? undefined
    : 'which is not { revision, through }'

export const countFault = (counted: number | undefined): Fault =>
  counted === undefined || isRevision(counted) ? undefined : 'which is not a number of events'

export const endFault = (end: KeptEnd | undefined): Fault =>
  end === undefined || (isObject(end) && isRevision(end['last']) && isText(end['hash']))
    ? undefined
    : 'which is not { last, hash }'

/**
 * Describes the fault in a page of stream names; undefined if the page is valid.
 *
 * @param before last name of the previous page; a page that repeats it would make the list endless
 */
export const namesFault = (
  names: readonly string[],
  prefixes: readonly string[],
  before: string | undefined,
): Fault => {
  if (!Array.isArray(names) || !names.every(isText)) return 'which is not a list of names'
  if (before !== undefined && names.includes(before))
    return `which repeats ${JSON.stringify(before)}, the last name of the previous page`
  return names.every((name) => prefixes.some((prefix) => name.startsWith(prefix)))
    ? undefined
    : `which has names that do not begin with ${prefixes.map((prefix) => JSON.stringify(prefix)).join(' or ')}`
}

export const changesFault = (changed: StreamChanges): Fault =>
  isObject(changed) && isPlace(changed['checkpoint']) && isNames(changed['streams'])
    ? undefined
    : 'which is not { checkpoint, streams }'

export const setFault = (names: ReadonlySet<string>): Fault =>
  names instanceof Set ? undefined : 'which is not a set of names'

const isPlace = (value: unknown): boolean => value === undefined || isText(value)
const isNames = (value: unknown): boolean => value === undefined || value instanceof Set

/**
 * Describes the fault in a page of events from all streams; undefined if the page is valid.
 *
 * @param after checkpoint after which the page was read
 */
export const pageFault = (page: AllPage, after: string | undefined): Fault => {
  if (!isObject(page) || !isPlace(page['checkpoint'])) return 'which is not { events, checkpoint }'
  const { events, checkpoint } = page
  return (
    eventsFault(events) ??
    (events.length > 0 && checkpoint === after ? 'which has events but no later checkpoint' : undefined)
  )
}
