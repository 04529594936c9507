import { hash } from 'node:crypto'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { storeOn } from '../../src/api/open.ts'
import { render } from '../../src/projections/render/render.ts'
import { effective } from '../../src/projections/effective.ts'
import type { ConversationEvent } from '../../src/events/events.ts'
import type { Log } from '../../src/projections/path.ts'
import { taskConversation, type TaskConversation } from '../../src/api/conversation.ts'
import { openSqlite } from '../../src/store/sqlite/store.ts'
import { right } from '../support/either.ts'
import { bytesIn, formsIn, formsOf } from '../support/forms.ts'
import { casesOf } from '../support/history-predicates.ts'
import { histories } from '../support/histories.ts'
import { moments } from '../support/model.ts'
import { violations } from '../support/predicates.ts'
import { runs, scale } from '../support/runs.ts'
import { temporaryFolder } from '../support/stores.ts'
import { write } from '../support/write.ts'
import { noCatalogue } from '../support/no-catalogue.ts'

// What is erased is gone from every file, and everything else is as before.

const needleOf = (place: string): string => `needle${hash('md5', place)}`

/**
 * The log with a text of its own in every text of a message or summary. In a prompt, equal texts stay equal: the view of a marker says
 * since when the prompt has been the same.
 */
const withNeedles = (log: Log): Log =>
  log.map((event) => {
    let n = 0
    const placeOf = (text: string): string =>
      event.type === 'Configured' ? `prompt ${text}` : `${event.position} ${n++}`
    const marked = (value: unknown, key: string): unknown => {
      if (typeof value === 'string')
        return ['text', 'thinking'].includes(key) ? `${value} ${needleOf(placeOf(value))}` : value
      if (Array.isArray(value)) return value.map((inner) => marked(inner, key))
      if (typeof value !== 'object' || value === null) return value
      return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, marked(inner, name)]))
    }
    return { ...event, data: marked(event.data, '') } as ConversationEvent
  })

const needlesIn = ({ data }: ConversationEvent): readonly string[] =>
  JSON.stringify(data).match(/needle[0-9a-f]{32}/g) ?? []

const logOf = async (chat: TaskConversation): Promise<Log> => {
  const log: ConversationEvent[] = []
  for await (const event of chat.events()) log.push(event)
  return log
}

describe('after an erasure of any events of any log', () => {
  const timeout = 900_000 * Math.max(1, scale / 2)
  test(
    'no file has their words, the proofs hold, and every position has a request that the API takes',
    { timeout },
    async () => {
      await fc.assert(
        fc.asyncProperty(
          histories(40).filter(({ length }) => length > 0),
          fc.array(fc.nat(60), { minLength: 1, maxLength: 8 }),
          async (history, picked) => {
            const folder = temporaryFolder()
            const log = withNeedles(history)
            const adapter = right(await openSqlite(`sqlite:${join(folder, 'store.db')}`)())
            await write(adapter, 'c', log)
            const store = storeOn(adapter, { kind: 'test' })
            const chat = taskConversation(store.conversation('c'), noCatalogue)
            const before = await logOf(chat)
            const positions = [...new Set(picked.map((at) => at % log.length))]
            const erased = await chat.erase({ positions, by: 'ann' })()
            if ('left' in erased) {
              expect(erased.left._tag).toBe('CannotErase')
              right(await store.close()())
              return
            }
            const gone = new Set(erased.right.positions)
            const bytes = bytesIn(folder)
            const left = log.filter(({ position }) => !gone.has(position))
            const kept = new Set(left.flatMap(needlesIn))
            for (const needle of new Set(log.flatMap(needlesIn)))
              expect(formsIn(bytes, formsOf(needle))).toEqual(kept.has(needle) ? ['plain'] : [])
            const after = await logOf(chat)
            expect(after.slice(0, log.length).map(({ position }) => position)).toEqual(
              before.map(({ position }) => position),
            )
            for (const [index, event] of after.slice(0, log.length).entries())
              if (!gone.has(index)) expect(event).toEqual(before[index])
            const verified = right(await chat.verify()())
            expect(verified.discrepancy).toBeUndefined()
            expect(verified).toMatchObject({ events: after.length })
            expect(verified.discrepancy).toBeUndefined()
            expect(verified.erased ?? 0).toBe(gone.size)
            for (const [at, request] of casesOf(after, moments(after), {}).entries())
              expect(violations(request), `at ${at}`).toEqual([])
            for (let at = 0; at < after.length; at++)
              expect(render(right(await chat.context({ at })()))).toEqual(render(effective(after, at)))
            right(await store.close()())
          },
        ),
        { numRuns: runs(100) },
      )
    },
  )
})
