import type { StoredEvent } from '../events/codec.ts'
import { invalidInput } from '../events/errors.ts'
import type { ConversationEvent } from '../events/events.ts'
import type { Effective } from '../projections/effective.ts'
import { toError } from '../result/typed.ts'
import { type Repeated, repeating } from './repeats.ts'
import type { Source } from './source.ts'
import { type Tainted, tainting } from './taint.ts'

/** Throws `InvalidInput` if an event cannot be withheld. */
export const checkWithholdable = ({ type }: StoredEvent, position: number): void => {
  const problem = `event ${position} says what the conversation was forked from: it cannot be withheld`
  if (type === 'Forked') throw toError(invalidInput('withhold', problem))
}

/** Finds what still tells of what is withheld, while the events of a log pass by. */
export const stillTold = async (chat: Pick<Source, 'events'>, withheld: ReadonlySet<number>) => {
  const hidden: ConversationEvent[] = []
  for (const position of withheld)
    for await (const event of chat.events({ from: position, to: position })) hidden.push(event)
  const taint = tainting(withheld)
  const repeat = repeating(hidden)
  const tainted: Tainted[] = []
  const repeated: Repeated[] = []
  return {
    /** @param before the effective history right before the event */
    pass: async (
      event: ConversationEvent,
      before: (position: number) => Promise<Effective>,
    ): Promise<void> => {
      const made = await taint(event, before)
      if (made) tainted.push(made)
      const said = repeat(event)
      if (said) repeated.push(said)
    },
    told: () => ({ tainted, repeated }),
  }
}
