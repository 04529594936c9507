import type { Emit, InterimEvent, TextEvent, ThinkingEvent, ToolInputEvent } from './turn-event.ts'

/**
 * What has happened and was not read yet. Writers never wait: pieces of the same block become one while they wait, so no more is kept than
 * is recorded, and what tools said of their progress.
 */
export interface EventQueue {
  readonly push: Emit
  /** Nothing more will happen. */
  readonly end: () => void
  /** The next event, once there is one; undefined after the last. One at a time. */
  readonly next: () => Promise<InterimEvent | undefined>
}

export const eventQueue = (): EventQueue => {
  const waiting: InterimEvent[] = []
  let isOver = false
  let reader: ((event: InterimEvent | undefined) => void) | undefined
  const give = (event: InterimEvent | undefined): void => {
    reader?.(event)
    reader = undefined
  }
  return {
    push: (event) => {
      if (isOver) return
      if (reader) return give(event)
      // Of a reply that starts over, nobody has to see the first attempt any more.
      if (event.type === 'retrying') while (isDelta(waiting.at(-1))) waiting.pop()
      const last = waiting.at(-1)
      const joined = last && joinedTo(last, event)
      if (joined) waiting[waiting.length - 1] = joined
      else waiting.push(event)
    },
    end: () => {
      isOver = true
      give(undefined)
    },
    next: () => {
      const event = waiting.shift()
      if (event || isOver) return Promise.resolve(event)
      return new Promise((resolve) => (reader = resolve))
    },
  }
}

type Delta = TextEvent | ThinkingEvent | ToolInputEvent
const isDelta = (event: InterimEvent | undefined): event is Delta =>
  event?.type === 'text' || event?.type === 'thinking' || event?.type === 'tool-input'

/** Two pieces as one, if they are of the same block. */
const joinedTo = (last: InterimEvent, next: InterimEvent): Delta | undefined => {
  if (!isDelta(last) || !isDelta(next) || last.index !== next.index) return undefined
  if (last.type === 'text' && next.type === 'text') return { ...last, text: last.text + next.text }
  if (last.type === 'thinking' && next.type === 'thinking')
    return { ...last, thinking: last.thinking + next.thinking }
  return last.type === 'tool-input' && next.type === 'tool-input'
    ? { ...last, json: last.json + next.json }
    : undefined
}
