import type { InterimEvent, TextEvent, ThinkingEvent, ToolInputEvent } from './turn-event.ts'

export type EventQueue = ReturnType<typeof eventQueue>

/** Creates a queue of unread events. Writers never wait. Pieces of one block are joined, so it is no longer than what is recorded. */
export const eventQueue = () => {
  const waiting: InterimEvent[] = []
  let isOver = false
  let reader: ((event: InterimEvent | undefined) => void) | undefined
  const give = (event: InterimEvent | undefined): void => {
    reader?.(event)
    reader = undefined
  }
  return {
    push: (event: InterimEvent): void => {
      if (isOver) return
      if (reader) return give(event)
      // Drops unread pieces of the previous attempt, because the reply starts over.
      if (event.type === 'retrying') while (isDelta(waiting.at(-1))) waiting.pop()
      const last = waiting.at(-1)
      const joined = last && joinedTo(last, event)
      if (joined) waiting[waiting.length - 1] = joined
      else waiting.push(event)
    },
    end: (): void => {
      isOver = true
      give(undefined)
    },
    /** Waits for the next event and returns it; undefined after the last event. Must not be called concurrently. */
    next: (): Promise<InterimEvent | undefined> => {
      const event = waiting.shift()
      if (event || isOver) return Promise.resolve(event)
      return new Promise((resolve) => (reader = resolve))
    },
  }
}

type Delta = TextEvent | ThinkingEvent | ToolInputEvent
const isDelta = (event: InterimEvent | undefined): event is Delta =>
  event?.type === 'text' || event?.type === 'thinking' || event?.type === 'tool-input'

/** Joins two pieces of the same block; returns undefined if they belong to different blocks. */
const joinedTo = (last: InterimEvent, next: InterimEvent): Delta | undefined => {
  if (!isDelta(last) || !isDelta(next) || last.index !== next.index) return undefined
  if (last.type === 'text' && next.type === 'text') return { ...last, text: last.text + next.text }
  if (last.type === 'thinking' && next.type === 'thinking')
    return { ...last, thinking: last.thinking + next.thinking }
  return last.type === 'tool-input' && next.type === 'tool-input'
    ? { ...last, json: last.json + next.json }
    : undefined
}
