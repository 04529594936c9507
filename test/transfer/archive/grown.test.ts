import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { Readable } from 'node:stream'
import fc from 'fast-check'
import { type ImportResult, openStore, type Store } from 'palimpsest'
import { describe, expect, test } from 'vitest'
import { effectiveOf, receiptsIn } from '../../support/imported.ts'
import { runs } from '../../support/runs.ts'
import { type Origin, present, sessionFile } from '../../support/sessions.ts'
import { opened } from '../../support/stores.ts'

const time = '2026-06-01T08:00:00.000Z'
const copilot = [
  ['session.start', { sessionId: 's', selectedModel: 'claude-sonnet-5' }],
  ['user.message', { content: 'List.', transformedContent: 'List.' }],
  ['assistant.message', { content: '', toolRequests: [{ toolCallId: 'c', name: 'ls', arguments: {} }] }],
  ['tool.execution_complete', { toolCallId: 'c', success: true, result: { content: 'a.txt' } }],
  ['assistant.message', { content: 'One file.', toolRequests: [] }],
  ['user.message', { content: 'Delete it.' }],
  ['assistant.message', { content: 'Done.', toolRequests: [] }],
  ['session.compaction_complete', { success: true, summaryContent: 'A file was deleted.' }],
  ['user.message', { content: 'Thanks.' }],
  ['session.snapshot_rewind', { upToEventId: 'e8' }],
  ['user.message', { content: 'Create it again.' }],
].map(([type, data], index) => ({ type, data, id: `e${index}`, timestamp: time, parentId: null }))
const gemini = [
  { sessionId: 's', projectHash: 'h', startTime: time, lastUpdated: time },
  { id: 'u', timestamp: time, type: 'user', content: 'List.' },
  { id: 'r', timestamp: time, type: 'gemini', content: 'I look.' },
  {
    id: 'r',
    timestamp: time,
    type: 'gemini',
    content: 'I look.',
    toolCalls: [{ id: 'c', name: 'ls', args: {}, status: 'success', result: 'a.txt' }],
  },
  { id: 'v', timestamp: time, type: 'user', content: 'Delete it.' },
  { $set: { summary: 'Deleting' } },
  { id: 'w', timestamp: time, type: 'gemini', content: 'Done.' },
  { $rewindTo: 'v' },
  { id: 'x', timestamp: time, type: 'user', content: 'Keep it.' },
  { $set: { summary: 'Keeping' } },
]
const madeUp = new Map<string, readonly object[]>([
  ['copilot', copilot],
  ['gemini-cli', gemini],
])
const textOf = (origin: Origin, name: string): string =>
  madeUp
    .get(name)
    ?.map((line) => `${JSON.stringify(line)}\n`)
    .join('') ?? sessionFile(origin, name).text

const files: readonly (readonly [Origin, string])[] = [
  ['sample', 'claude-code/session-with-compaction.jsonl'],
  ['sample', 'claude-code/queued-prompts.jsonl'],
  ['sample', 'claude-code/microcompact.jsonl'],
  ['sample', 'clients/claude-code.session.jsonl'],
  ['sample', 'clients/codex.session.jsonl'],
  ['sample', 'copilot'],
  ['sample', 'gemini-cli'],
  ['sample', 'pi/before-compaction.jsonl'],
]

const examplesFolder = new URL('../../../examples/sessions/', import.meta.url)
const examples = readdirSync(examplesFolder)

type Bytes = () => AsyncIterable<Uint8Array>

/** The result of an import: what it answers, or its error. */
const imported = async (
  store: Store,
  session: { readonly text: string } | { readonly bytes: Bytes },
): Promise<ImportResult | string> => {
  try {
    return await store.importSession({ ...session, file: 'a.jsonl' })
  } catch (error) {
    return String(error)
  }
}

/** What may happen to a conversation between two imports of its file. */
const meanwhile = {
  nothing: async () => undefined,
  rewind: async (store: Store, id: string) => {
    await store.conversation(id).rewind({ to: 0 })
  },
  append: async (store: Store, id: string) => {
    const chat = store.conversation(id)
    const messageId = `own-${(await chat.effective()).length}`
    await chat.append({ role: 'user', content: 'Something else.', messageId })
  },
  erase: async (store: Store, id: string) => {
    await store.conversation(id).erase({ positions: [1], reason: 'asked for' })
  },
} as const

/** The kind of error with which something failed; undefined if it did not. */
const tagOf = (outcome: Promise<void>): Promise<unknown> =>
  outcome.then(
    () => undefined,
    (error: { readonly _tag?: string }) => error._tag,
  )

describe('a file that was imported before, and has grown', () => {
  test.each(present(files))(
    '%s %s: is read from where it ended, as if it were read as a whole',
    async (origin, name) => {
      const text = textOf(origin, name)
      const ends = [...text.matchAll(/\n/g)].map(({ index }) => index + 1)
      const cut = fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...ends) }, fc.nat(text.length))
      const step = fc.tuple(cut, fc.constantFrom(...(Object.keys(meanwhile) as (keyof typeof meanwhile)[])))
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 6 }), async (steps) => {
          const [kept, whole] = [await opened('memory:'), await opened('memory:')]
          const ordered = steps.toSorted(([one], [other]) => one - other)
          for (const [to, event] of [...ordered, [text.length, 'nothing'] as const]) {
            const now = text.slice(0, to)
            const bytes = () => Readable.from([Buffer.from(now)])
            const [one, other] = [await imported(kept, { bytes }), await imported(whole, { text: now })]
            expect(one).toEqual(other)
            if (typeof one === 'string') continue
            const id = one.conversations[0]?.id ?? ''
            const [here, there] = [
              await tagOf(meanwhile[event](kept, id)),
              await tagOf(meanwhile[event](whole, id)),
            ]
            expect(here).toBe(there)
          }
          expect(await effectiveOf(kept)).toEqual(await effectiveOf(whole))
          expect(await receiptsIn(kept)).toBe(await receiptsIn(whole))
        }),
        { numRuns: runs(8) },
      )
    },
  )

  test.each(examples)('%s: becomes the same from its bytes as from its text', async (name) => {
    const text = readFileSync(new URL(name, examplesFolder), 'utf8')
    const [kept, whole] = [await opened('memory:'), await opened('memory:')]
    const bytes = () => Readable.from([Buffer.from(text)])
    expect(await imported(kept, { bytes })).toEqual(await imported(whole, { text }))
    const shownIn = async (store: Store) =>
      JSON.stringify(await effectiveOf(store)).replaceAll(/"time":"[^"]*"/g, '')
    expect(await shownIn(kept)).toBe(await shownIn(whole))
  })

  test('is opened once, and again only if its beginning differs', async () => {
    const store = await opened('memory:')
    const line = (text: string): string =>
      `${JSON.stringify({ type: 'message', id: text, parentId: null, timestamp: time, message: { role: 'user', content: text } })}\n`
    const grow = async (text: string): Promise<number> => {
      let count = 0
      const bytes = () => {
        count++
        return Readable.from([Buffer.from(text)])
      }
      await store.importSession({ bytes, file: 'a.jsonl', format: 'pi' })
      return count
    }
    const [one, two] = [line('one'), line('two')]
    expect(await grow(one)).toBe(2)
    expect(await grow(one + two)).toBe(1)
    // The last line has no end.
    expect(await grow(one + two + line('three').slice(0, -1))).toBe(1)
    expect(await grow(one + two + line('three') + line('four'))).toBe(2)
    expect(await grow(line('five') + one + two)).toBe(2)
  })

  test.runIf(process.platform === 'linux')('takes no file from a store that is closed', async () => {
    const openFiles = () =>
      readdirSync('/proc/self/fd').filter((descriptor) => {
        try {
          return readlinkSync(`/proc/self/fd/${descriptor}`).includes('palimpsest-import-')
        } catch {
          return false
        }
      }).length
    const store = await openStore('memory:')
    const content = 'a'.repeat(6_000_000)
    const text = `${JSON.stringify({ type: 'message', id: 'a', parentId: null, timestamp: time, message: { role: 'user', content } })}\n`
    const before = openFiles()
    await store.importSession({
      bytes: () => Readable.from([Buffer.from(text)]),
      file: 'a.jsonl',
      format: 'pi',
    })
    expect(openFiles()).toBeGreaterThan(before)
    await store.close()
    await expect.poll(openFiles).toBe(before)
  })
})
