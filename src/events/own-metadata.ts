import { isoTime, type Metadata } from './events.ts'

/** A JSON string without escapes, not empty; what is between its quotes is captured. */
const text = String.raw`"([ !#-[\]-\uffff]+)"`
const time = isoTime.source.slice(1, -1)

const pattern = new RegExp(
  [
    String.raw`^\{"schema":([1-9]),"time":"(${time})","actor":\{"kind":${text}(?:,"id":${text})?\},"commandId":${text}`,
    String.raw`(?:,"\$correlationId":${text})?(?:,"\$causationId":${text})?,"prev":(?:null|${text})\}$`,
  ].join(''),
)

/**
 * Metadata as nearly every event has them: the fields that `encode` writes, in its order, no escapes. To parse and check them takes four
 * times as long. Undefined for any other text: it is for the parser and the schema to judge. That what is read is the same is a property
 * test.
 */
export const ownMetadata = (stored: string): Metadata | undefined => {
  const found = pattern.exec(stored)
  if (!found) return undefined
  const [, schema, at = '', kind = '', id, commandId = '', $correlationId, $causationId, prev = null] = found
  return {
    schema: Number(schema),
    time: at,
    actor: id === undefined ? { kind } : { kind, id },
    commandId,
    ...($correlationId !== undefined && { $correlationId }),
    ...($causationId !== undefined && { $causationId }),
    prev,
  }
}

const beforeSchema = '{"schema":'.length
const beforeTime = '{"schema":1,"time":"'.length
const timeLength = '2026-01-31T12:00:00.000Z'.length
const nobody = { kind: '' }

/**
 * Recognises the same texts as `ownMetadata`, but gives only schema and time: to readers of a long history the rest is mostly garbage
 * to collect.
 */
export const ownTime = (stored: string): Metadata | undefined => {
  if (!pattern.test(stored)) return undefined
  const at = stored.slice(beforeTime, beforeTime + timeLength)
  return { schema: Number(stored[beforeSchema]), time: at, actor: nobody, commandId: '', prev: null }
}
