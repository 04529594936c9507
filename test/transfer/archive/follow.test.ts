import fc from 'fast-check'
import { openStore, type Store } from 'palimpsest'
import { describe, expect, test } from 'vitest'
import { effectiveOf, idsOf, receiptsIn } from '../../support/imported.ts'
import { runs } from '../../support/runs.ts'
import { type Origin, present, sessionFile } from '../../support/sessions.ts'
import { opened } from '../../support/stores.ts'

/** A file that another program writes. */
const growing = () => {
  let content = Buffer.alloc(0)
  const reads: number[] = []
  return {
    write: (more: string | Buffer) => {
      content = Buffer.concat([content, Buffer.from(more)])
    },
    rewrite: (all: string) => {
      content = Buffer.from(all)
    },
    bytes: async function* (from: number) {
      if (content.length > from) yield content.subarray(from)
      reads.push(content.length - from)
    },
    reads,
  }
}

const followed = (store: Store, file: ReturnType<typeof growing>, signal: AbortSignal) =>
  (async () => {
    let count = 0
    const session = { file: 'a.jsonl', bytes: (from: number) => file.bytes(from), skipBadLines: true }
    for await (const { conversations } of store.followSession(session, { every: 5, signal }))
      for (const { added } of conversations) count += added
    return count
  })()

const files: readonly (readonly [Origin, string])[] = [
  ['sample', 'claude-code/session-with-compaction.jsonl'],
  ['sample', 'claude-code/queued-prompts.jsonl'],
  ['sample', 'claude-code/microcompact.jsonl'],
  ['sample', 'clients/claude-code.session.jsonl'],
  ['sample', 'clients/codex.session.jsonl'],
  ['sample', 'pi/before-compaction.jsonl'],
]

describe('a session file that is followed while it is written', () => {
  test.each(present(files))(
    '%s %s: becomes what it becomes at once, wherever the writes end',
    async (origin, name) => {
      const bytes = Buffer.from(sessionFile(origin, name).text)
      const atOnce = await opened('memory:')
      await atOnce.importSession({ file: 'a.jsonl', text: bytes.toString() })
      await fc.assert(
        fc.asyncProperty(fc.array(fc.nat(bytes.length), { maxLength: 8 }), async (cuts) => {
          const store = await openStore('memory:')
          const file = growing()
          const ends = new AbortController()
          const following = followed(store, file, ends.signal)
          let from = 0
          for (const to of [...cuts, bytes.length].toSorted((one, other) => one - other)) {
            file.write(bytes.subarray(from, to))
            from = to
            const before = file.reads.length
            await expect.poll(() => file.reads.length > before + 1, { interval: 2 }).toBe(true)
          }
          ends.abort()
          await following
          expect(await effectiveOf(store)).toEqual(await effectiveOf(atOnce))
          expect(await receiptsIn(store)).toBe(await receiptsIn(atOnce))
          expect((await store.conversation((await idsOf(store))[0] ?? '').original()).bytes).toBe(
            bytes.length,
          )
          await store.close()
        }),
        { numRuns: runs(4) },
      )
    },
  )

  test('is read from where it ended, and from the beginning if it was rewritten', async () => {
    const { text } = sessionFile('sample', 'pi/before-compaction.jsonl')
    const lines = text.trimEnd().split('\n')
    const store = await opened('memory:')
    const file = growing()
    const ends = new AbortController()
    const following = followed(store, file, ends.signal)
    const seen = async () => {
      const before = file.reads.length
      await expect.poll(() => file.reads.length > before + 1, { interval: 2 }).toBe(true)
    }
    const more = `${lines.slice(0, -2).join('\n')}\n`
    file.write(more)
    await seen()
    file.write(`${lines.at(-2)}\n`)
    await seen()
    // At most the overlap that shows a rewritten file.
    expect(Math.max(...file.reads.slice(-2))).toBeLessThanOrEqual(4_096 + (lines.at(-2)?.length ?? 0) + 1)
    file.rewrite(text.replace('"version":3', '"version": 3'))
    await seen()
    ends.abort()
    await following
    expect((await idsOf(store)).length).toBe(1)
  })
})
