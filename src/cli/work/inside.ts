import { invalidInput } from '../../events/errors.ts'
import { isConversationId } from '../../events/ids.ts'
import type { Store, WorkerExit } from '../../index.ts'
import { toError } from '../../result/typed-error.ts'
import { type EventRelay, relayBeat } from '../../server/relay.ts'
import { nameRule } from '../options.ts'
import { loadAgent } from './agent.ts'

/** A worker that runs in this process and relays the events of its turns. */
export interface Inside {
  readonly run: (signal: AbortSignal) => Promise<WorkerExit>
}

/** Creates a worker with the agent of a module. Throws `AgentFailed`, or `InvalidInput` if the agent sets an invalid worker name. */
export const workInside = async (
  store: Store,
  file: string,
  slots: number | undefined,
  relay: EventRelay,
): Promise<Inside> => {
  const agent = await loadAgent(file)
  const { onEvent } = agent
  const worker = store.worker({
    ...agent,
    ...(slots !== undefined && { slots }),
    onEvent: (served) => {
      relay.hear(worker.id, [served])
      onEvent?.(served)
    },
  })
  if (!isConversationId(worker.id)) throw toError(invalidInput('name', nameRule))
  const says = (): void => relay.hear(worker.id, [])
  return {
    run: async (signal) => {
      says()
      const beats = setInterval(says, relayBeat)
      try {
        return await worker.run({ signal })
      } finally {
        clearInterval(beats)
      }
    },
  }
}
