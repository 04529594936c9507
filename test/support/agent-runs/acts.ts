import { unknownBlock } from '../../../src/events/blocks.ts'
import type { Conversation } from '../../../src/index.ts'
import type { Act } from './plan.ts'

const errorTag = (error: unknown): string | undefined => {
  const { _tag } = (error ?? {}) as { readonly _tag?: unknown }
  return typeof _tag === 'string' ? _tag : undefined
}

/** What a promise came to: its value, or the typed error that it rejected with. Any other error is thrown on. */
export const outcomeOf = async <A>(
  done: Promise<A>,
): Promise<{ readonly value: A } | { readonly error: string; readonly cause: unknown }> => {
  try {
    return { value: await done }
  } catch (cause) {
    const error = errorTag(cause)
    if (error === undefined) throw cause
    return { error, cause }
  }
}

/** What others do to a conversation; that it may be refused is no matter. */
export type Deed = Extract<
  Act,
  { readonly type: 'say' | 'rewind' | 'undo' | 'restore' | 'condense' | 'truncate' | 'configure' }
>

export const does = async (chat: Conversation, act: Deed): Promise<unknown> => {
  switch (act.type) {
    case 'say':
      return chat.append({ role: act.role, content: act.content.map(unknownBlock) })
    case 'undo':
      return chat.undo()
    case 'configure':
      return chat.configure({ system: act.system })
    case 'condense':
      return chat.condense({ summary: 'What was said.', fraction: act.fraction, keepLast: act.keepLast })
    case 'truncate':
      return chat.truncate({ fraction: act.fraction, keepLast: act.keepLast })
    case 'restore': {
      const markers = (await chat.effective()).filter(({ kind }) => kind !== 'message')
      const marker = markers[act.which % Math.max(1, markers.length)]
      return marker && chat.restore({ marker: marker.position })
    }
    case 'rewind':
      return rewind(chat, act)
  }
}

const rewind = async (
  chat: Conversation,
  { to, back }: Extract<Act, { readonly type: 'rewind' }>,
): Promise<unknown> => {
  if (to === 'turns') return chat.rewind({ turns: 1 + (back % 3) })
  if (to === 'position') return chat.rewind({ to: Math.max(-1, (await chat.position()) - 1 - back) })
  const messages = (await chat.effective()).filter(({ kind }) => kind === 'message')
  return chat.rewind({ before: messages.at(-1 - back)?.position ?? 0 })
}
