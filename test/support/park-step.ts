import { storeOn } from '../../src/api/open.ts'
import { run } from '../../src/result/fallible.ts'
import type { EventStore } from '../../src/store/port.ts'
import { right } from './either.ts'

/** Begins a conversation whose only step is parked, as a worker parks it after its last attempt. */
export const parkStep = async (
  events: EventStore,
  id: string,
  errors: readonly string[] = ['ModelFailed: no key'],
): Promise<void> => {
  const chat = storeOn(events, { kind: 'program' }).conversation(id)
  right(await chat.append({ role: 'user', content: 'Is it there?' }, { answer: true })())
  const begun = { type: 'TurnsBegun', data: { at: 0 } } as const
  const parked = {
    type: 'TurnParked',
    data: { step: 'conversation@0', attempts: 5, errors: [...errors], at: 0 },
  } as const
  right(await run(chat.turnLog.append([begun, parked], -1)))
}
