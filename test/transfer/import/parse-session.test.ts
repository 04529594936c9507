import * as E from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import { parseSession, type SessionFile } from '../../../src/transfer/formats/parse-session.ts'
import { left, right } from '../../support/either.ts'
import { sample } from '../../support/import-log.ts'

const samples = [
  ['claude-code.jsonl', 'claude-code'],
  ['pi.jsonl', 'pi'],
  ['openai.json', 'openai'],
  ['roo.json', 'roo'],
  ['anthropic.json', 'anthropic'],
  ['palimpsest.jsonl', 'palimpsest'],
] as const

const fail = (file: Partial<SessionFile>): unknown => left(parseSession({ file: 'f', text: '', ...file }))

describe('the format of a file', () => {
  it.each(samples)('%s is %s by its content', (file, format) => {
    expect(right(parseSession(sample(file))).format).toBe(format)
  })

  it.each(samples)('%s is recognised when its first line is torn', (file, format) => {
    const { text } = sample(file)
    const torn = format.endsWith('i') || file.endsWith('.json') ? text.slice(0, -20) : text.slice(20)
    const read = parseSession({ text: torn, file, skipBadLines: true })
    // Of a document nothing is left to read: then the bad line is named, as it is of a format that was told.
    expect(E.isRight(read) ? read.right.format : read.left).toEqual(
      file.endsWith('.json') ? expect.objectContaining({ _tag: 'BadLine' }) : format,
    )
  })

  it.each(['', '  \n', 'hello', '{"a":1}', '[1,2]', '[]'])('is not guessed from %j', (text) => {
    expect(fail({ text })).toMatchObject({ _tag: 'UnknownFormat' })
  })

  it('is told behind a byte order mark', () => {
    const file = sample('roo.json')
    expect(right(parseSession({ ...file, text: `\uFEFF${file.text}` })).format).toBe('roo')
  })
})

describe('a torn or malformed line', () => {
  it.each(samples.filter(([file]) => file.endsWith('.jsonl')))(
    'of %s stops the import, or is skipped and listed',
    (file) => {
      const lines = sample(file).text.trimEnd().split('\n')
      const text = [...lines.slice(0, -1), lines.at(-1)?.slice(0, 30)].join('\n')
      expect(fail({ text, file })).toMatchObject({
        _tag: 'BadLine',
        file,
        line: lines.length,
        message: expect.stringContaining(`${file}, line ${lines.length}: `),
      })
      const { report, conversations } = right(parseSession({ text, file, skipBadLines: true }))
      expect(report.badLines).toMatchObject([{ line: lines.length }])
      expect(conversations.length).toBeGreaterThan(0)
    },
  )

  it.each(samples.filter(([file]) => file.endsWith('.json')))(
    'of %s cannot be skipped: nothing stands behind it',
    (file) => {
      const { text } = sample(file)
      const line = text.slice(0, 900).trimEnd().split('\n').length
      for (const skipBadLines of [false, true])
        expect(fail({ text: text.slice(0, 900), file, skipBadLines })).toMatchObject({
          _tag: 'BadLine',
          file,
          line,
        })
    },
  )

  it('at the end of a file is left for the next import, though a part of it is a whole object', () => {
    const line = (content: string) => `{"messages":[{"role":"user","content":"${content}"}]}`
    const read = (text: string) =>
      right(parseSession({ text, file: 'f', format: 'anthropic', skipBadLines: true }))
    const { conversations, report } = read(`${line('One.')}\n{"kept":${line('Two.')}`)
    expect(conversations).toHaveLength(1)
    expect(report.badLines).toEqual([
      { line: 2, problem: expect.stringContaining('cut off where the file ends') },
    ])
    const damaged = read(`${line('One.')}\n{"kept":"Tw${line('Two.')}`)
    expect(damaged.conversations).toHaveLength(2)
    expect(damaged.report.badLines).toEqual([
      { line: 2, problem: expect.stringContaining('the complete entry') },
    ])
  })

  it('of a JSON text that goes wrong in the middle is named', () => {
    const text = '{"messages": [\n{"role": "user",\n"content": nothing}\n]}'
    expect(fail({ text, format: 'anthropic' })).toMatchObject({ _tag: 'BadLine', line: 3 })
  })
})

describe('the id of a conversation', () => {
  it('is the one that is asked for, if it is one', () => {
    expect(right(parseSession({ ...sample('pi.jsonl'), id: 'mine' })).conversations[0]?.id).toBe('mine')
    expect(fail({ ...sample('pi.jsonl'), id: 'not mine' })).toMatchObject({
      _tag: 'InvalidInput',
      path: 'id',
    })
  })

  it('cannot be asked for where several stored conversations have theirs', () => {
    expect(fail({ ...sample('palimpsest.jsonl'), id: 'mine' })).toMatchObject({
      _tag: 'InvalidInput',
      path: 'id',
    })
  })
})
