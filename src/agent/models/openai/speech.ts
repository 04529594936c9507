import type { Fields } from '../../../events/json.ts'
import type { ReplyEvent } from '../model.ts'
import type { BlockEvents } from './block-events.ts'
import type { ReasoningOrigin } from './chat/chat.ts'
import { detailsList } from './details.ts'

/**
 * Builder of the stream events for a model's text and thinking. A new block begins when text follows thinking, or thinking follows
 * text.
 */
export interface Speech {
  readonly text: (text: unknown) => readonly ReplyEvent[]
  readonly reasoning: (delta: Fields) => readonly ReplyEvent[]
  /** Ends the open block, because content of another kind begins. */
  readonly interrupt: () => readonly ReplyEvent[]
  readonly end: () => readonly ReplyEvent[]
}

type Kind = 'text' | 'thinking'

export const speech = (provider: string, { start, delta, stop }: BlockEvents): Speech => {
  const details = detailsList()
  /** Block that the last delta belongs to. */
  let open: { readonly kind: Kind; readonly index: number } | undefined
  /** Index of the thinking block with reasoning details, which may arrive until the end of the reply. */
  let detailed: number | undefined

  const interrupt = (): readonly ReplyEvent[] => {
    const index = open?.index
    open = undefined
    return index === undefined || index === detailed ? [] : [stop(index)]
  }

  const opened = (kind: Kind): readonly ReplyEvent[] => {
    if (open?.kind === kind) return []
    const before = interrupt()
    if (kind === 'thinking' && detailed !== undefined) {
      open = { kind, index: detailed }
      return before
    }
    const chat: ReasoningOrigin = { provider }
    const [index, event] = start(
      kind === 'text' ? { type: kind, text: '' } : { type: kind, thinking: '', chat },
    )
    open = { kind, index }
    return [...before, event]
  }

  const spoken = (kind: Kind, text: unknown): readonly ReplyEvent[] => {
    if (typeof text !== 'string' || text === '') return []
    const events = opened(kind)
    const fields = kind === 'text' ? { type: 'text_delta', text } : { type: 'thinking_delta', thinking: text }
    return [...events, delta(open?.index ?? 0, fields)]
  }

  const opaque = (): readonly ReplyEvent[] => {
    if (detailed === undefined) return []
    const chat: ReasoningOrigin = { provider, details: details.all() }
    return [delta(detailed, { type: 'opaque_delta', chat }), stop(detailed)]
  }

  return {
    text: (text) => spoken('text', text),
    reasoning: ({ reasoning_content, reasoning, reasoning_details }) => {
      const events = spoken('thinking', reasoning_content || reasoning)
      if (!Array.isArray(reasoning_details) || reasoning_details.length === 0) return events
      const begun = detailed === undefined ? opened('thinking') : []
      detailed ??= open?.index
      details.add(reasoning_details)
      return [...events, ...begun]
    },
    interrupt,
    end: () => [...interrupt(), ...opaque()],
  }
}
