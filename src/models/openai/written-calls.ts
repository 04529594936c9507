import { randomUUID } from 'node:crypto'
import { type Fields, isFields } from '../../events/json.ts'
import type { ReplyEvent } from '../model.ts'
import type { BlockEvents } from './block-events.ts'

/** The calls of a reply, while they are written. */
export interface WrittenCalls {
  readonly add: (part: unknown) => readonly ReplyEvent[]
  readonly isAny: () => boolean
  readonly end: () => readonly ReplyEvent[]
}

/** A call that is being written. Its block begins with its name, which need not come first. */
interface Writing {
  readonly id: string
  readonly isGiven: boolean
  name: string
  /** Arguments that came before the name. */
  early: string
  block: number | undefined
}

interface Begins {
  /** The name of a tool, by the name that the model knows it by. */
  readonly nameOf: (sent: string) => string
  /** The events that come before a new block. */
  readonly interrupt: () => readonly ReplyEvent[]
}

export const writtenCalls = (
  { start, delta, stop }: BlockEvents,
  { nameOf, interrupt }: Begins,
): WrittenCalls => {
  const calls: Writing[] = []
  const places = new Map<unknown, Writing>()

  /** The call that a part belongs to: by its index, but some endpoints give every call the same one, or none. */
  const writingOf = ({ index, id }: Fields, isNamed: boolean): Writing => {
    const given = typeof id === 'string' && id !== '' ? id : undefined
    const known = index === undefined && given === undefined ? calls.at(-1) : places.get(index ?? given)
    const isOther = given !== undefined && known?.isGiven === true && known.id !== given && isNamed
    return known && !isOther ? known : writingAt(index ?? given, given)
  }
  const writingAt = (place: unknown, given: string | undefined): Writing => {
    const id = given ?? `call_${randomUUID().replaceAll('-', '')}`
    const writing: Writing = { id, isGiven: given !== undefined, name: '', early: '', block: undefined }
    calls.push(writing)
    places.set(place, writing)
    return writing
  }

  const begun = (writing: Writing): readonly ReplyEvent[] => {
    const before = interrupt()
    const { id, name } = writing
    const [index, event] = start({ type: 'tool_use', id, name: nameOf(name), input: {} })
    writing.block = index
    return [...before, event]
  }

  return {
    add: (part) => {
      if (!isFields(part)) return []
      const { name, arguments: given = '' } = isFields(part['function']) ? part['function'] : ({} as Fields)
      const writing = writingOf(part, typeof name === 'string' && name !== '')
      writing.early += typeof given === 'string' ? given : JSON.stringify(given)
      if (writing.block === undefined && typeof name === 'string') writing.name += name
      if (writing.name === '') return []
      const before = writing.block === undefined ? begun(writing) : []
      const { early: json, block = 0 } = writing
      writing.early = ''
      return json === ''
        ? before
        : [...before, delta(block, { type: 'input_json_delta', partial_json: json })]
    },
    isAny: () => calls.length > 0,
    end: () =>
      calls.map(({ block }) => {
        if (block === undefined) throw new Error('the stream has a call without a name')
        return stop(block)
      }),
  }
}
