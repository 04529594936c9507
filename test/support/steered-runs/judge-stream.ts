import { expect } from 'vitest'
import { type Stored, totals } from './judge.ts'
import { blocksIn } from './raw-log.ts'
import type { Ran } from './run.ts'

/** A stream tells what the log says, in its order, and ends as the turn does. */
export const judgeStream = ({ chat, events, options, outcome }: Ran, stored: readonly Stored[]): void => {
  if (!options.isStream || !outcome) return
  totals['streams read']++
  const { log } = stored.find(({ id }) => id === chat) as Stored
  let texts = new Map<number, string>()
  const running = new Set<string>()
  for (const event of events)
    switch (event.type) {
      case 'text':
        texts.set(event.index, (texts.get(event.index) ?? '') + event.text)
        break
      case 'retrying':
        texts = new Map()
        break
      case 'reply': {
        const recorded = blocksIn(log[event.position] as (typeof log)[number])
        expect(event.content).toEqual(recorded)
        for (const [index, { type, text }] of recorded.entries())
          if (type === 'text') expect(texts.get(index)).toBe(text)
        texts = new Map()
        break
      }
      case 'tool-started':
        expect(running.has(event.call), `${event.call} is started once`).toBe(false)
        running.add(event.call)
        break
      case 'tool-progress':
        expect(running).toContain(event.call)
        break
      case 'tool-ended':
        expect(running.delete(event.call), `${event.call} was started`).toBe(true)
        break
      case 'tool-failed':
        running.delete(event.call)
        break
      case 'condensed':
      case 'truncated':
        expect(log[event.position]?.type.toLowerCase()).toBe(event.type)
        expect(log[event.position]?.data['covers']).toEqual(event.covers)
        break
      case 'thinking':
      case 'tool-input':
      case 'waiting':
      case 'held':
      case 'done':
        break
    }
  if ('error' in outcome) return
  const { value } = outcome
  expect(events.at(-1)).toEqual({ type: 'done', turned: value })
  expect([...running]).toEqual([])
  const waiting = events.flatMap((event) => (event.type === 'waiting' ? event.calls : []))
  expect(waiting).toEqual([...value.waiting, ...value.pending])
  expect(blocksIn(log[value.position] as (typeof log)[number])).toEqual(value.content)
  const replies = events.filter(({ type }) => type === 'reply')
  // A call that was interrupted, or too long, has no reply.
  expect(replies.length).toBeLessThanOrEqual(value.calls)
}
