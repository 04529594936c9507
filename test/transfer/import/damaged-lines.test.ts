import { describe, expect, it } from 'vitest'
import { parseSession } from '../../../src/transfer/formats/parse-session.ts'
import { openStore } from '../../../src/index.ts'
import type { ImportReport } from '../../../src/transfer/formats/plan.ts'
import { sessionReader } from '../../../src/transfer/formats/parse-session.ts'
import { createImportNotes } from '../../../src/transfer/formats/source.ts'
import { splitLines } from '../../../src/transfer/formats/split-lines.ts'
import { right } from '../../support/either.ts'
import { atEnd } from '../../support/at-end.ts'
import { importFile, logsOf, planOf, shownIn } from '../../support/import-log.ts'

const claude = ['q1', 'a1', 'q2', 'a2'].map((uuid, index, all) =>
  JSON.stringify({
    uuid,
    parentUuid: all[index - 1] ?? null,
    sessionId: 's',
    type: index % 2 === 0 ? 'user' : 'assistant',
    message: { role: index % 2 === 0 ? 'user' : 'assistant', content: [{ type: 'text', text: uuid }] },
  }),
)
const pi = [
  JSON.stringify({ type: 'session', id: 'p', timestamp: '2026-01-01T00:00:00.000Z' }),
  ...['q1', 'q2', 'q3'].map((id) =>
    JSON.stringify({
      type: 'message',
      id,
      timestamp: '2026-01-01T00:00:00.000Z',
      message: { role: 'user', content: id },
    }),
  ),
]
const requests = ['q1', 'q2', 'q3', 'q4'].map((content) =>
  JSON.stringify({ messages: [{ role: 'user', content }] }),
)
const formats = [
  ['Claude Code', claude],
  ['pi', pi],
  ['requests', requests],
] as const

const fileOf = (text: string) => ({ file: 'f.jsonl', text, skipBadLines: true })
const shownOf = (text: string): readonly unknown[] =>
  [...logsOf(importFile(fileOf(text))).values()].flatMap((log) => shownIn(log))
const reportOf = (text: string): ImportReport => planOf(fileOf(text)).report
const withLine = (lines: readonly string[], at: number, line: string): string =>
  `${lines.with(at, line).join('\n')}\n`

describe.each(formats)('a damaged line of %s', (_, lines) => {
  const whole = shownOf(`${lines.join('\n')}\n`)
  const line = lines[2] ?? ''

  it.each([
    ['NUL bytes', '\0'.repeat(64)],
    ['half an entry', line.slice(0, line.length / 2)],
    ['half an entry that ends before a value', line.slice(0, line.lastIndexOf(':') + 1)],
    ['half an entry, then NUL bytes', `${line.slice(0, 20)}\0\0\0`],
    ['what is not JSON', '%%%'],
  ])('that has %s before a whole entry gives the entry, and is reported', (__, before) => {
    const text = withLine(lines, 2, before + line)
    expect(shownOf(text)).toEqual(whole)
    expect(reportOf(text).badLines.map((bad) => bad.line)).toContain(3)
    expect(parseSession({ file: 'f.jsonl', text })).toMatchObject({ left: { _tag: 'BadLine', line: 3 } })
  })

  it('that has several whole entries after it gives each of them', () => {
    const text = withLine(lines, 2, `${line.slice(0, 30)}${line}${lines[3] ?? ''}`)
    expect(shownOf(text.replace(`\n${lines[3] ?? ''}\n`, '\n'))).toEqual(whole)
  })

  it('that the file ends in is said to be that, with or without a splitter', () => {
    const text = `${lines.slice(0, 3).join('\n')}\n${(lines[3] ?? '').slice(0, 40)}`
    const badLines = [{ line: 4, problem: expect.stringContaining('may still be writing it') as unknown }]
    expect(reportOf(text).badLines).toEqual(badLines)
    const notes = createImportNotes()
    const reader = sessionReader(fileOf(text), notes)
    const splitter = splitLines(reader, notes)
    splitter.push(Buffer.from(text))
    splitter.finish()
    expect(right(reader.finish()).report.badLines).toEqual(badLines)
    expect(reportOf(`${text}\n`).badLines).toEqual([
      { line: 4, problem: expect.stringContaining('not JSON') as unknown },
    ])
    expect(reportOf(lines.join('\n')).badLines).toEqual([])
  })
})

it('a line that seems to begin an entry everywhere is given up, in little time', () => {
  const deep = '{"a":'.repeat(20_000)
  expect(reportOf(`${claude.join('\n')}\n${deep}\n`).badLines).toHaveLength(1)
  const often = `${'{"a":'.repeat(40)}{"b":1}{"b":1}%`.repeat(500)
  expect(reportOf(`${claude.join('\n')}\n${often}\n`).badLines.length).toBeGreaterThan(0)
})

it('a session in which nothing has been said yet is told to be that', async () => {
  const store = await openStore('memory:')
  atEnd(() => store.close())
  const begun = JSON.stringify({ type: 'permission-mode', permissionMode: 'default', sessionId: 's' })
  await expect(store.importSession({ file: 'f.jsonl', text: `${begun}\n` })).rejects.toMatchObject({
    _tag: 'UnknownFormat',
    message: expect.stringContaining('contains no message') as unknown,
  })
})
