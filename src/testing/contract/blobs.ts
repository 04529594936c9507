import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { blobChunk } from '../../store/port.ts'
import { type ContractRule, blobOf, bytesOf, event, events, ids, infosOf, later, right } from './support.ts'

/** Contract rules for blobs, the content stored outside of events. */
export const blobs: readonly ContractRule[] = [
  {
    title: 'a blob comes back to the byte, in order, with any number of chunks',
    run: async (store) => {
      for (const chunks of [1, 2, 5]) {
        const blob = blobOf(chunks, chunks)
        await right(store.blobs.put(blob.sha256, blob.chunks))
        assert.ok((await bytesOf(store, blob.sha256)).equals(Buffer.concat(blob.chunks)))
      }
    },
  },
  {
    title: 'a blob of every byte value comes back to the byte',
    run: async (store) => {
      const bytes = Uint8Array.from({ length: 65_536 }, (_, index) =>
        index % 2 === 0 ? index >> 8 : index >> 1,
      )
      const sha256 = createHash('sha256').update(bytes).digest('hex')
      await right(store.blobs.put(sha256, [bytes.slice()]))
      assert.ok((await bytesOf(store, sha256)).equals(bytes))
    },
  },
  {
    title: 'a blob that does not exist cannot be read, and is not listed',
    run: async (store) => {
      assert.equal((await bytesOf(store, blobOf(1).sha256)).length, 0)
      assert.deepEqual(await infosOf(store), [])
      if (store.blobs.info) assert.equal(await right(store.blobs.info(blobOf(1).sha256)), undefined)
      await right(store.blobs.remove(blobOf(1).sha256, new Date()))
    },
  },
  {
    title:
      'blobs are listed with their bytes and the time of the last put; one that is put twice is kept once',
    run: async (store) => {
      const [small, large] = [blobOf(1), blobOf(2, 3)]
      for (const blob of [small, large]) await right(store.blobs.put(blob.sha256, blob.chunks))
      const first = await infosOf(store)
      assert.deepEqual(
        new Map(first.map(({ sha256, bytes }) => [sha256, bytes])),
        new Map([
          [small.sha256, 1_000],
          [large.sha256, 2 * blobChunk + 1_000],
        ]),
      )
      await later()
      await right(store.blobs.put(large.sha256, large.chunks))
      const second = await infosOf(store)
      assert.equal(second.length, 2)
      for (const [index, { sha256, time }] of second.entries()) {
        const before = first[index]?.time.getTime() ?? Infinity
        assert.equal(time.getTime() > before, sha256 === large.sha256)
        if (store.blobs.info) assert.deepEqual(await right(store.blobs.info(sha256)), second[index])
      }
      assert.ok((await bytesOf(store, large.sha256)).equals(Buffer.concat(large.chunks)))
    },
  },
  {
    title: 'a blob is removed unless it was put since; removed, it can be put again',
    run: async (store) => {
      const blob = blobOf(1, 2)
      const early = new Date(Date.now() - 60_000)
      await right(store.blobs.put(blob.sha256, blob.chunks))
      await right(store.blobs.remove(blob.sha256, early))
      assert.equal((await infosOf(store)).length, 1)
      await right(store.blobs.remove(blob.sha256, await later()))
      assert.deepEqual(await infosOf(store), [])
      if (store.blobs.info) assert.equal(await right(store.blobs.info(blob.sha256)), undefined)
      assert.equal((await bytesOf(store, blob.sha256)).length, 0)
      await right(store.blobs.put(blob.sha256, blob.chunks))
      assert.ok((await bytesOf(store, blob.sha256)).equals(Buffer.concat(blob.chunks)))
      assert.equal((await infosOf(store)).length, 1)
    },
  },
  {
    title: 'concurrent puts of one blob all succeed, and it is kept once, during appends',
    run: async (store) => {
      const blob = blobOf(1, 3)
      const puts = Array.from({ length: 10 }, () => right(store.blobs.put(blob.sha256, blob.chunks)))
      const appends = events(10).map((one, n) =>
        right(store.append({ stream: `s${n}`, events: [one], expected: -1 })),
      )
      await Promise.all([...puts, ...appends])
      assert.equal((await infosOf(store)).length, 1)
      assert.ok((await bytesOf(store, blob.sha256)).equals(Buffer.concat(blob.chunks)))
    },
  },
  {
    title: 'blobs are not events: no stream and no reader of all events has them',
    run: async (store) => {
      const blob = blobOf(1)
      const one = event()
      await right(store.blobs.put(blob.sha256, blob.chunks))
      await right(store.append({ stream: 'a', events: [one], expected: -1 }))
      assert.deepEqual(await right(store.streams('', '', 10)), ['a'])
      const seen = await right(store.readAll({ limit: 10, prefixes: ['a'] }))
      assert.deepEqual(ids(seen.events), [one.id])
    },
  },
]
