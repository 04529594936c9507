import { hashOf, type StoredEvent } from '../../events/codec.ts'
import { blockBytes, hashFrom, stateAfter } from './sha256.ts'

const ending = /[,{]"prev":(?:null|"([0-9a-f]{64})")\}$/
const form = /^([0-9a-f]{64}) ([0-9]{1,15})\n((?:[0-9a-f]{2}){1,138})\n([0-9a-f]{64})$/

/**
 * Returns the stub that replaces a withheld event: the hash state before the last bytes of the event's text, these bytes, and the
 * event's hash. The stub proves which event came before and reveals only the end of the metadata. Returns undefined if the metadata
 * does not end with the hash of the preceding event, which shows that another program wrote the event.
 */
export const withheldText = (event: StoredEvent): string | undefined => {
  const { id, type, data, metadata } = event
  const found = ending.exec(metadata)
  if (!found) return undefined
  const text = Buffer.from(`${id}\n${type}\n${data}\n${metadata}`)
  const before = Math.floor((text.length - found[0].length) / blockBytes) * blockBytes
  const state = stateAfter(text.subarray(0, before)).toString('hex')
  return `\n${state} ${text.length}\n${text.toString('hex', before)}\n${hashOf(event)}\n`
}

/** Hashes of a withheld event and of the event before it. */
export interface WithheldStub {
  readonly hash: string
  readonly prev: string | null
}

/**
 * Parses the last three lines of a stub from `withheldText`. Returns undefined if they are malformed, or false if the hash computed
 * from them differs from the hash that they state.
 */
export const openWithheld = (lines: string): WithheldStub | false | undefined => {
  const [, state = '', length, coded = '', hash = ''] = form.exec(lines) ?? []
  const rest = Buffer.from(coded, 'hex')
  const found = ending.exec(rest.toString('latin1'))
  if (!found) return undefined
  const isWhole = (Number(length) - rest.length) % blockBytes === 0
  const isIt = isWhole && hashFrom(Buffer.from(state, 'hex'), rest, Number(length)).toString('hex') === hash
  return isIt && { hash, prev: found[1] ?? null }
}
