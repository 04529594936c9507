import type { Store } from '../index.ts'

/** No step of the conversation is parked, so there is nothing to retry. Nothing was recorded. */
export interface NotParked {
  readonly _tag: 'NotParked'
  readonly message: string
  readonly conversation: string
}

/** @param how sentence that says where the states of steps are listed */
export const notParked = (conversation: string, how: string): NotParked => ({
  _tag: 'NotParked',
  message: `no step of ${conversation} is parked: ${how}`,
  conversation,
})

/** Reports whether a step of a conversation is parked. Throws `ConversationNotFound`. */
export const isParked = async (
  store: Pick<Store, 'conversation' | 'steps'>,
  id: string,
): Promise<boolean> => {
  await store.conversation(id).position()
  for await (const { conversation } of store.steps({ state: 'parked', conversations: [id] }))
    if (conversation === id) return true
  return false
}
