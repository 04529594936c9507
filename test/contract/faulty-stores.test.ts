import { setTimeout as sleep } from 'node:timers/promises'
import * as E from 'fp-ts/lib/Either.js'
import { memoryStore, type StoreAdapter, storeContract } from 'palimpsest/testing'
import { describe, expect, test } from 'vitest'
import { invalidInput } from '../../src/events/errors.ts'
import type { FollowItem, RecordedEvent } from '../../src/store/port.ts'

// Stores with faults that a database invites, and the rules that find them.

const runRule = (wanted: string, store: StoreAdapter): Promise<void> => {
  const rule = storeContract.find(({ title }) => title === wanted)
  if (!rule) throw new Error(wanted)
  return rule.run(store)
}

/** A store that numbers events with a sequence before they are committed, and reads them by these numbers. */
const ordersBySequence = (): StoreAdapter => {
  const { url, append, read, close } = memoryStore()
  let sequence = 0
  const committed: RecordedEvent[] = []
  const readAll: StoreAdapter['readAll'] =
    ({ prefixes = [''], after, limit }) =>
    async () => {
      if (
        after !== undefined &&
        !(typeof after === 'string' && /^[1-9]\d*$/.test(after) && Number(after) <= sequence)
      )
        return E.left(invalidInput('after', 'no checkpoint of this store'))
      const events = committed
        .filter(
          ({ stream, checkpoint }) =>
            prefixes.some((prefix) => stream.startsWith(prefix)) && Number(checkpoint) > Number(after ?? 0),
        )
        .toSorted((a, b) => Number(a.checkpoint) - Number(b.checkpoint))
        .slice(0, limit)
      return E.right({ events, checkpoint: events.at(-1)?.checkpoint ?? after })
    }
  return {
    url,
    read,
    close,
    readAll,
    append: (request) => async () => {
      const { stream, events, expected } = structuredClone(request)
      const taken = events.map(() => String(++sequence))
      // Large rows take longer.
      await sleep(events[0] && events[0].data.length > 30_000 ? 3 : 0)
      const outcome = await append(request)()
      if (E.isRight(outcome) && outcome.right === 'written')
        for (const [n, event] of events.entries())
          committed.push({ ...event, stream, revision: expected + 1 + n, checkpoint: taken[n] ?? '' })
      return outcome
    },
    async *follow({ signal, prefixes, after }): AsyncGenerator<FollowItem> {
      for (let from = after; !signal?.aborted; await sleep(1)) {
        const page = await readAll({ prefixes, after: from, limit: 1_000 })()
        if (E.isLeft(page)) throw Object.assign(new Error(page.left.message), page.left)
        for (const event of page.right.events) {
          if (signal?.aborted) return
          yield { type: 'event', event, checkpoint: event.checkpoint }
        }
        from = page.right.checkpoint
      }
    },
  }
}

/** A store that keeps the bytes of blobs in a column of text. */
const keepsBlobsAsText = (): StoreAdapter => {
  const store = memoryStore()
  const { blobs } = store
  if (!blobs) throw new Error('blobs')
  return {
    ...store,
    blobs: {
      ...blobs,
      async *get(sha256) {
        for await (const chunk of blobs.get(sha256)) yield Buffer.from(Buffer.from(chunk).toString())
      },
    },
  }
}

/** A store whose database changes JSON when it stores it. */
const keepsJson = (change: (data: string) => string) => (): StoreAdapter => {
  const store = memoryStore()
  return {
    ...store,
    append: (request) =>
      store.append({
        ...request,
        events: request.events?.map?.((one) =>
          typeof one?.data === 'string' ? { ...one, data: change(one.data) } : one,
        ),
      }),
  }
}

const asJsonb = (data: string): string => {
  try {
    return JSON.stringify(JSON.parse(data))
  } catch {
    return data
  }
}

describe('the contract finds', () => {
  test.for([
    [
      'a sequence that is taken for the order of commits',
      ordersBySequence,
      'readers and followers miss no event of writers whose appends end in another order than they began',
    ],
    ['bytes that went through a text', keepsBlobsAsText, 'a blob of every byte value comes back to the byte'],
    [
      'JSON that is parsed and written anew',
      keepsJson(asJsonb),
      'events come back as they were written, to the byte, in order',
    ],
    [
      'a character that the database drops',
      keepsJson((data) => data.replaceAll(/\\u0000|\0/g, '')),
      'U+0000 comes back as it was written, or is InvalidInput',
    ],
  ] as const)('%s', async ([, open, title]) => {
    await expect(runRule(title, memoryStore())).resolves.toBeUndefined()
    await expect(runRule(title, open())).rejects.toMatchObject({ name: 'AssertionError' })
  })
})
