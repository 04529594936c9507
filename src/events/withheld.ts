import { blockBytes, hashFrom, stateAfter } from './sha256.ts'
import type { StoredEvent } from './stored-event.ts'

// An event whose text is gone or withheld still has a hash that anyone can check: the stub holds the hash state before the last bytes of
// the text, and these bytes, which name the event before it.

const ending = /[,{]"prev":(?:null|"([0-9a-f]{64})")\}$/
const stubForm = String.raw`([0-9a-f]{64}) ([0-9]{1,15})[ \n]((?:[0-9a-f]{2}){1,138})`
const oneStub = new RegExp(`^${stubForm}$`)
const lines = new RegExp(`^${stubForm}\n([0-9a-f]{64})$`)
const erasedEnd = new RegExp(
  String.raw`,"erased":\{"time":"(?<time>[^"]+)","stub":"(?<stub>${stubForm})"\}\}$`,
)

/** Hashes of a withheld event and of the event before it. */
export interface WithheldStub {
  readonly hash: string
  readonly prev: string | null
}

/**
 * Returns the stub of an event: the hash state before the last bytes of the event's text, the length of the text, and these bytes in
 * hex, separated by spaces. Returns undefined if the metadata does not end with the hash of the preceding event, which shows that another
 * program wrote the event.
 */
export const stubOf = ({ id, type, data, metadata }: StoredEvent): string | undefined => {
  const found = ending.exec(metadata)
  if (!found) return undefined
  const text = Buffer.from(`${id}\n${type}\n${data}\n${metadata}`)
  const before = Math.floor((text.length - found[0].length) / blockBytes) * blockBytes
  const state = stateAfter(text.subarray(0, before)).toString('hex')
  return `${state} ${text.length} ${text.toString('hex', before)}`
}

/** Reports whether an event can have a stub. Computes none. */
export const canHaveStub = ({ metadata }: StoredEvent): boolean => ending.test(metadata)

/** Parses a stub from `stubOf`; undefined if it is malformed. */
const parseStub = (stub: string) => {
  const [, state = '', length, coded = ''] = oneStub.exec(stub) ?? []
  const rest = Buffer.from(coded, 'hex')
  const found = ending.exec(rest.toString('latin1'))
  const isWhole = found && (Number(length) - rest.length) % blockBytes === 0
  return isWhole ? { state, rest, length: Number(length), prev: found[1] ?? null } : undefined
}

/** Returns the hashes that a stub from `stubOf` proves; undefined if the stub is malformed. */
export const openStub = (stub: string): WithheldStub | undefined => {
  const parsed = parseStub(stub)
  if (!parsed) return undefined
  const { state, rest, length, prev } = parsed
  return { hash: hashFrom(Buffer.from(state, 'hex'), rest, length).toString('hex'), prev }
}

/** Reports whether a stub is well-formed and names this hash for the event before it. Computes no hash. */
export const followsHash = (stub: string, prev: string | null): boolean => {
  const parsed = parseStub(stub)
  return parsed !== undefined && parsed.prev === prev
}

/** Returns the stub in the metadata of an erased event; undefined for any other event. */
export const erasedStub = (metadata: string): string | undefined => erasedEnd.exec(metadata)?.groups?.['stub']

/** Returns the time in the metadata of an erased event, in ISO 8601; undefined for any other event. */
export const erasedTime = (metadata: string): string | undefined => erasedEnd.exec(metadata)?.groups?.['time']

/** Returns the hashes that the metadata of an erased event prove; undefined for any other event. */
export const openErased = (metadata: string): WithheldStub | undefined => {
  const stub = erasedStub(metadata)
  return stub === undefined ? undefined : openStub(stub)
}

/** Returns the lines that replace a withheld event in a bundle: its stub and its hash. Undefined if the event can have no stub. */
export const withheldText = (event: StoredEvent): string | undefined => {
  const stub = erasedStub(event.metadata) ?? stubOf(event)
  const opened = stub === undefined ? undefined : openStub(stub)
  if (stub === undefined || !opened) return undefined
  const at = stub.lastIndexOf(' ')
  return `\n${stub.slice(0, at)}\n${stub.slice(at + 1)}\n${opened.hash}\n`
}

/**
 * Parses the last three lines of a stub from `withheldText`. Returns undefined if they are malformed, or false if the hash computed
 * from them differs from the hash that they state.
 */
export const openWithheld = (text: string): WithheldStub | false | undefined => {
  const [, state = '', length = '', coded = '', hash] = lines.exec(text) ?? []
  if (!ending.test(Buffer.from(coded, 'hex').toString('latin1'))) return undefined
  const opened = openStub(`${state} ${length} ${coded}`)
  return opened?.hash === hash && opened !== undefined && opened
}
