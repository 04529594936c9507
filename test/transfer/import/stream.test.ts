import { createReadStream, readdirSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import { parseSession, type SessionFile } from '../../../src/transfer/formats/parse-session.ts'
import { planEvents } from '../../../src/transfer/formats/plan-events.ts'
import { isStored, type ImportPlan, type StoredImport } from '../../../src/transfer/formats/plan.ts'
import { type FileLine, linesOf, createImportNotes } from '../../../src/transfer/formats/source.ts'
import { splitLines } from '../../../src/transfer/formats/split-lines.ts'
import { openStore } from '../../../src/index.ts'
import { readSession } from '../../../src/transfer/read-session.ts'
import { fileShelf } from '../../../src/transfer/shelf.ts'
import { atEnd } from '../../support/at-end.ts'
import { left, right } from '../../support/either.ts'
import { jsonl, sample } from '../../support/import-log.ts'
import { runs } from '../../support/runs.ts'
import { withoutSalts } from '../../support/receipts.ts'
import { temporaryFolder } from '../../support/stores.ts'

const samples = [
  'claude-code.jsonl',
  'pi.jsonl',
  'openai.json',
  'roo.json',
  'anthropic.json',
  'palimpsest.jsonl',
]

/** The text's bytes, cut at these shares of its length. */
async function* cut(text: string | Uint8Array, cuts: readonly number[]): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text as string)
  const at = cuts.map((share) => Math.floor(share * bytes.length)).toSorted((a, b) => a - b)
  for (const [index, end] of [...at, bytes.length].entries()) yield bytes.subarray(at[index - 1] ?? 0, end)
}

/** What a plan writes. */
const written = (plan: ImportPlan | StoredImport): unknown =>
  isStored(plan)
    ? plan.conversations.map(({ id, events }) => ({ id, events: [...events] }))
    : plan.conversations.map((each) => ({
        id: each.id,
        events: right(planEvents(each, plan.format, [])),
      }))

const anyCuts = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 6 })

/** Reads a session from its bytes with everything on the shelf, and compares that with what its text gives. */
const expectSame = async (file: SessionFile, cuts: readonly number[]): Promise<void> => {
  const { text, ...options } = file
  const shelf = fileShelf(-1)
  try {
    const streamed = await readSession({ ...options, bytes: cut(text, cuts) }, shelf)
    const parsed = parseSession(file)
    if (parsed._tag === 'Left') expect(streamed).toEqual(parsed)
    else {
      expect(written(right(streamed))).toEqual(written(parsed.right))
      expect(right(streamed).report).toEqual(parsed.right.report)
    }
  } finally {
    shelf.close()
  }
}

describe('a session read from its bytes', () => {
  it.each(samples)('%s: is what its text is, wherever the bytes are cut', async (name) => {
    await fc.assert(
      fc.asyncProperty(anyCuts, (cuts) => expectSame(sample(name), cuts)),
      { numRuns: runs(20) },
    )
  })

  it('is what its text is, whatever is said in it', async () => {
    const word = fc.oneof(
      fc.string({ unit: 'grapheme' }),
      fc.constantFrom('é€𝄞', '\\"', '\r', 'x'.repeat(700)),
    )
    const text = fc.array(word, { maxLength: 5 }).map((words) => words.join('\n'))
    const content = fc.oneof(
      text,
      fc.array(
        fc.oneof(
          text.map((said) => ({ type: 'text', text: said, cache_control: { type: 'ephemeral' } })),
          text.map((said) => ({ type: 'tool_result', tool_use_id: 'x', content: said, is_error: true })),
          text.map((said) => ({ type: 'tool_use', id: 'x', name: 'run', input: { said } })),
        ),
        { minLength: 1, maxLength: 3 },
      ),
    )
    const entry = fc.oneof(
      { weight: 5, arbitrary: fc.record({ kind: fc.constantFrom('user', 'assistant'), content }) },
      {
        weight: 1,
        arbitrary: fc.record({ kind: fc.constantFrom('microcompact', 'compact', 'torn'), content }),
      },
    )
    const lineOf = ({ kind, content: said }: { kind: string; content: unknown }, index: number): string => {
      const linked = { uuid: `u${index}`, parentUuid: index === 0 ? null : `u${index - 1}`, sessionId: 's' }
      const system = { ...linked, type: 'system', subtype: `${kind}_boundary` }
      if (kind === 'torn') return `${jsonl(linked).slice(0, 20)}\n`
      if (kind === 'microcompact')
        return jsonl({ ...system, microcompactMetadata: { compactedToolIds: ['x'] } })
      if (kind === 'compact')
        return jsonl(system, {
          ...linked,
          uuid: `s${index}`,
          parentUuid: `u${index}`,
          type: 'user',
          isCompactSummary: true,
          message: { role: 'user', content: 'Summary.' },
        })
      return jsonl({ ...linked, type: kind, message: { role: kind, content: said, id: `m${index}` } })
    }
    await fc.assert(
      fc.asyncProperty(
        fc.array(entry, { maxLength: 12 }),
        anyCuts,
        fc.boolean(),
        (draft, cuts, skipBadLines) =>
          expectSame(
            { text: draft.map(lineOf).join(''), file: 'f', format: 'claude-code', skipBadLines },
            cuts,
          ),
      ),
      { numRuns: runs(150) },
    )
  })

  it('may begin with a byte order mark, and end without a newline', async () => {
    await expectSame({ ...sample('pi.jsonl'), text: `\uFEFF${sample('pi.jsonl').text.trimEnd()}` }, [0.0001])
  })

  it('is refused as its text is', async () => {
    for (const text of ['', '\n\n', 'hello', '{"messages": [\n{"role"', '[]'])
      await expectSame({ text, file: 'f' }, [0.5])
  })

  it('must be bytes', async () => {
    const bytes = (async function* () {
      yield 'text' as unknown as Uint8Array
    })()
    expect(left(await readSession({ bytes, file: 'f' }, fileShelf()))).toMatchObject({ _tag: 'InvalidInput' })
  })
})

describe('the lines of a file', () => {
  const split = (
    bytes: readonly Uint8Array[],
    longest?: number,
  ): { readonly lines: readonly FileLine[]; readonly report: unknown } => {
    const lines: FileLine[] = []
    const notes = createImportNotes()
    const splitter = splitLines({ read: (line) => lines.push(line) }, notes, longest)
    for (const piece of bytes) splitter.push(piece)
    splitter.finish()
    return { lines, report: notes.report() }
  }

  it('are those of its text, wherever its bytes are cut, also inside of a character', () => {
    const anyText = fc.string({ unit: fc.constantFrom('a', '\n', 'é', '€', '𝄞', '\r'), maxLength: 40 })
    fc.assert(
      fc.property(anyText, fc.array(fc.nat(80)), (text, cuts) => {
        const bytes = Buffer.from(text)
        const at = cuts.map((each) => each % (bytes.length + 1)).toSorted((a, b) => a - b)
        const pieces = [...at, bytes.length].map((end, index) => bytes.subarray(at[index - 1] ?? 0, end))
        expect(split(pieces).lines).toEqual([...linesOf(text)])
      }),
      { numRuns: runs(500) },
    )
  })

  it('that are no UTF-8 are noted', () => {
    const { lines, report } = split([Buffer.from('good\nb'), Buffer.from([0xff, 0x0a, 0xe2, 0x82])])
    expect(lines.map(({ text }) => text)).toEqual(['good', 'b\uFFFD', '\uFFFD'])
    expect(report).toMatchObject({ notes: [expect.stringContaining('not UTF-8 (first on line 2)')] })
    expect(split([Buffer.from('good')]).report).toMatchObject({ notes: [] })
  })

  it('that no string can hold are bad', () => {
    const { lines, report } = split([Buffer.from('1234\n12'), Buffer.from('345\n6\n')], 4)
    expect(lines).toEqual([
      { line: 1, text: '1234' },
      { line: 2, text: '' },
      { line: 3, text: '6' },
    ])
    expect(report).toMatchObject({ badLines: [{ line: 2, problem: 'longer than 4 bytes' }] })
  })
})

describe('a store', () => {
  const { text, file } = sample('claude-code.jsonl')
  /** Leaves the shelf no room in memory. */
  const large = jsonl(
    ...Array.from({ length: 60 }, (_, n) => ({
      uuid: `u${n}`,
      parentUuid: n === 0 ? null : `u${n - 1}`,
      sessionId: 'large',
      type: 'user',
      timestamp: '2026-01-01T00:00:00.000Z',
      message: { role: 'user', content: `${n} ${'é'.repeat(100_000)}` },
    })),
  )

  it('imports bytes as it imports text', async () => {
    const store = await openStore('memory:')
    const bytes = await store.importSession({ bytes: cut(text, [0.3, 0.31]), file })
    expect(bytes.conversations).toMatchObject([{ added: 34 }])
    expect((await store.importSession({ text, file })).conversations).toMatchObject([{ added: 0 }])
    await store.close()
  })

  it('imports what is larger than its shelf, and leaves no file', async () => {
    // A folder of its own: others import at the same time.
    const folder = temporaryFolder()
    vi.stubEnv('TMPDIR', folder)
    atEnd(() => void vi.unstubAllEnvs())
    const [one, two] = [await openStore('memory:'), await openStore('memory:')]
    await one.importSession({ bytes: cut(large, [0.3]), file: 'f' })
    await two.importSession({ text: large, file: 'f' })
    const messages = async (store: typeof one): Promise<unknown> => store.conversation('large').effective()
    expect(withoutSalts(await messages(one))).toEqual(withoutSalts(await messages(two)))
    expect((await one.importSession({ bytes: cut(large, [0.7]), file: 'f' })).conversations).toMatchObject([
      { added: 0, events: 60 },
    ])
    const torn = (async function* () {
      yield* cut(large, [0.9])
      if (process.platform !== 'win32') expect(readdirSync(folder)).toEqual([])
      throw new Error('torn')
    })()
    await expect(one.importSession({ bytes: torn, file: 'f' })).rejects.toThrow('torn')
    expect(readdirSync(folder)).toEqual([])
    await Promise.all([one.close(), two.close()])
  })

  it('says where it found no room for what is larger than its shelf, and imports nothing', async () => {
    const store = await openStore('memory:')
    const { TMPDIR } = process.env
    process.env['TMPDIR'] = '/nowhere'
    try {
      await expect(store.importSession({ bytes: cut(large, []), file: 'f' })).rejects.toMatchObject({
        _tag: 'TemporaryFileFailed',
        folder: '/nowhere',
      })
    } finally {
      if (TMPDIR === undefined) delete process.env['TMPDIR']
      else process.env['TMPDIR'] = TMPDIR
    }
    for await (const { id } of store.conversations()) expect(id).toBe('none')
    await store.close()
  })

  it.each<[string, () => AsyncIterable<Uint8Array>, string, object]>([
    [
      'a file that is not there',
      () => createReadStream('/nowhere/f'),
      'it does not exist',
      { code: 'ENOENT' },
    ],
    ['a folder', () => createReadStream('/'), 'it is a directory', { code: 'EISDIR' }],
    [
      'a source that breaks off',
      async function* () {
        yield* cut(sample('pi.jsonl').text, [0.5])
        throw new Error('torn')
      },
      'torn',
      { message: 'torn' },
    ],
    [
      'a source that throws no error',
      () => ({
        [Symbol.asyncIterator]: () => {
          // oxlint-disable-next-line no-throw-literal -- sources may do so
          throw null
        },
      }),
      'null',
      {},
    ],
  ])('says of %s that it cannot be read, and imports nothing', async (_, bytes, why, cause) => {
    const store = await openStore('memory:')
    const failed = await store.importSession({ bytes: bytes(), file: 'f' }).catch((error: unknown) => error)
    expect(failed).toMatchObject({
      _tag: 'FileUnreadable',
      file: 'f',
      message: expect.stringContaining(`f cannot be read (${why})`),
    })
    expect((failed as { cause: object | null }).cause ?? {}).toMatchObject(cause)
    for await (const { id } of store.conversations()) expect(id).toBe('none')
    await store.close()
  })

  it('refuses what is neither text nor bytes', async () => {
    const store = await openStore('memory:')
    for (const session of [null, undefined, {}, { file: 'f' }, { file: 'f', bytes: 'x' }, { text: 'x' }])
      await expect(store.importSession(session as never)).rejects.toMatchObject({ _tag: 'InvalidInput' })
    await store.close()
  })
})
