import type { Store } from '../index.ts'

/** No step of the conversation is parked or waits after a failure, so there is nothing to retry. Nothing was recorded. */
export interface NotParked {
  readonly _tag: 'NotParked'
  readonly message: string
  readonly conversation: string
}

/** @param how sentence that says where the states of steps are listed */
export const notParked = (conversation: string, how: string): NotParked => ({
  _tag: 'NotParked',
  message: `no step of ${conversation} is parked or waits after a failure: ${how}`,
  conversation,
})

/** Reports whether a step of a conversation is parked, or waits after a failure. Throws `ConversationNotFound`. */
export const canRetry = async (
  store: Pick<Store, 'conversation' | 'steps'>,
  id: string,
): Promise<boolean> => {
  await store.conversation(id).position()
  for await (const { conversation, state, nextTry, held, errors } of store.steps({ conversations: [id] }))
    if (conversation === id)
      return state === 'parked' || nextTry !== undefined || (held === 'paused' && errors.length > 0)
  return false
}
