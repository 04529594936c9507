import { randomUUID } from 'node:crypto'
import { type Fields, isFields } from '../../../events/json.ts'
import type { ReplyEvent } from '../model.ts'
import type { BlockEvents } from './block-events.ts'

/** Assembler of a reply's tool calls, which arrive in parts. */
export interface WrittenCalls {
  readonly add: (part: unknown) => readonly ReplyEvent[]
  readonly isAny: () => boolean
  /** Reports whether the arguments of every call are empty or a complete JSON object. */
  readonly areWhole: () => boolean
  readonly end: () => readonly ReplyEvent[]
}

/** Tool call that is still arriving. Its block begins once the tool's name has arrived. */
interface Writing {
  readonly id: string
  /** Id that the endpoint gave the call. */
  readonly given: string | undefined
  name: string
  /** Arguments received so far, as JSON text. */
  json: string
  /** Arguments received before the tool's name. */
  early: string
  block: number | undefined
}

interface Begins {
  /** Returns a tool's name in the request, given the name sent to the model. */
  readonly nameOf: (sent: string) => string
  /** Ids of earlier calls, which must not be reused: some endpoints restart from the same id in each reply. */
  readonly taken: ReadonlySet<string>
  /** Returns the events that end the open block before a new one begins. */
  readonly interrupt: () => readonly ReplyEvent[]
}

export const createWrittenCalls = (
  { start, delta, stop }: BlockEvents,
  { nameOf, taken, interrupt }: Begins,
): WrittenCalls => {
  const calls: Writing[] = []
  const places = new Map<unknown, Writing>()

  /** Finds the call that a part belongs to, by its index or id. Some endpoints give all calls the same index or id, or omit both. */
  const writingOf = (part: Part): Writing => {
    const { index, id, name } = part
    const isNew = index !== undefined && name !== ''
    const known = places.get(index) ?? (isNew ? undefined : (places.get(id) ?? lastFor(part)))
    const writing = known && !begins(part, known) ? known : writingAt(id)
    for (const place of [index, id]) if (place !== undefined) places.set(place, writing)
    return writing
  }
  const writingAt = (given: string | undefined): Writing => {
    const isFree = given !== undefined && !taken.has(given) && calls.every(({ id }) => id !== given)
    const id = isFree ? given : `call_${randomUUID().replaceAll('-', '')}`
    const writing: Writing = { id, given, name: '', json: '', early: '', block: undefined }
    calls.push(writing)
    return writing
  }
  /** Returns the last call if the part continues it, that is, if the part has neither index nor id, or has only arguments. */
  const lastFor = ({ index, id, name }: Part): Writing | undefined => {
    const last = calls.at(-1)
    const isRest = id === undefined && name === '' && last?.block !== undefined
    return isRest || (index === undefined && id === undefined) ? last : undefined
  }

  const begun = (writing: Writing): readonly ReplyEvent[] => {
    const before = interrupt()
    const { id, name } = writing
    const [index, event] = start({ type: 'tool_use', id, name: nameOf(name), input: {} })
    writing.block = index
    return [...before, event]
  }

  return {
    add: (given) => {
      if (!isFields(given)) return []
      const part = partOf(given)
      const writing = writingOf(part)
      writing.json += part.json
      writing.early += part.json
      if (writing.block === undefined) writing.name += part.name
      if (writing.name === '') return []
      const before = writing.block === undefined ? begun(writing) : []
      const { early: json, block = 0 } = writing
      writing.early = ''
      return json === ''
        ? before
        : [...before, delta(block, { type: 'input_json_delta', partial_json: json })]
    },
    isAny: () => calls.length > 0,
    areWhole: () => calls.every(({ json }) => json === '' || isWhole(json)),
    end: () =>
      calls.map(({ block }) => {
        if (block === undefined) throw new Error('the stream contains a tool call without a name')
        return stop(block)
      }),
  }
}

/** Part of a tool call as it arrives. Missing fields are undefined or empty. */
interface Part {
  readonly index: unknown
  readonly id: string | undefined
  readonly name: string
  readonly json: string
}

const partOf = ({ index, id, function: made }: Fields): Part => {
  const { name, arguments: given } = isFields(made) ? made : ({} as Fields)
  return {
    index: index ?? undefined,
    id: typeof id === 'string' && id !== '' ? id : undefined,
    name: typeof name === 'string' ? name : '',
    json: typeof given === 'string' ? given : given ? JSON.stringify(given) : '',
  }
}

/** Reports whether a part begins a new call instead of continuing the known one: the part has another id, or the known call is complete. */
const begins = ({ id, name, json }: Part, known: Writing): boolean => {
  if (name === '' || known.block === undefined) return false
  if (id !== undefined && known.given !== undefined && id !== known.given) return true
  // Some endpoints repeat the name in every part of a call.
  return name === known.name ? json !== '' && isWhole(known.json) : known.json === '' || isWhole(known.json)
}

const isWhole = (json: string): boolean => {
  // A cheap check, which decides in most cases.
  if (!json.trimEnd().endsWith('}')) return false
  try {
    return isFields(JSON.parse(json))
  } catch {
    return false
  }
}
