import * as E from 'fp-ts/lib/Either.js'
import { afterEach, describe, expect, test } from 'vitest'
import { openStore } from '../../../src/index.ts'
import { formats, isSessionFormat } from '../../../src/transfer/formats/plan.ts'
import { recogniseText } from '../../../src/transfer/formats/recognise.ts'
import {
  exporterOf,
  ownFormats,
  registerFormat,
  writableFormats,
} from '../../../src/transfer/formats/registry.ts'
import { inDirectory, shell } from '../../cli/palimpsest.ts'

const dump = {
  name: 'dump',
  recognises: () => false,
  parse: () => [],
  write: (log: readonly object[], id: string) => [
    `${id}\n`,
    ...log.map((event) => `${JSON.stringify(event)}\n`),
  ],
}
afterEach(() => void ownFormats().delete('dump'))

describe('what can be exported', () => {
  test('has one exporter, for the library, the command line and servers', async () => {
    registerFormat(dump)
    const extensions = new Map<string, string | undefined>()
    for (const format of writableFormats()) extensions.set(format, (await exporterOf(format))?.extension)
    expect([...extensions]).toEqual([
      ['palimpsest', 'jsonl'],
      ['anthropic', 'json'],
      ['markdown', 'md'],
      ['atif', 'json'],
      ['vcon', 'vcon.json'],
      ['prov', 'jsonld'],
      ['claude-code', 'jsonl'],
      ['codex', 'jsonl'],
      ['pi', 'jsonl'],
      ['opencode', 'json'],
      ['dump', 'txt'],
    ])
    for (const format of ['html', 'roo', 'constructor', '']) expect(await exporterOf(format)).toBe(undefined)
  })

  test('no format of somebody else takes the name of one', () => {
    for (const name of [...writableFormats(), ...formats, 'html'])
      expect(registerFormat({ ...dump, name })).toMatchObject({ _tag: 'Left' })
  })

  test('the command line prints what its exporter writes; with --json, documents in a field', async () => {
    await inDirectory(async (folder) => {
      const url = `sqlite:${folder}/a.db`
      const store = await openStore(url)
      const chat = store.conversation('a')
      await chat.configure({ system: 'Be brief.', model: 'm' })
      await chat.append([
        { role: 'user', content: 'One.' },
        { role: 'assistant', content: 'Two. \u202e' },
      ])
      await chat.note({ kind: 'title', data: 'Numbers' })
      const fields = new Map([['markdown', 'markdown']])
      // A session is new each time.
      for (const format of writableFormats().filter((name) => !isSessionFormat(name))) {
        const exporter = await exporterOf(format)
        let text = ''
        for await (const piece of exporter?.pieces(chat, {}) ?? []) text += piece
        expect(text).toContain('Two. ')
        const { stdout } = await shell(`palimpsest export a --format ${format} --store ${url}`, folder)
        const { stdout: json } = await shell(
          `palimpsest export a --format ${format} --store ${url} --json`,
          folder,
        )
        // A request or a trajectory is JSON either way, and so written that it can be shown; events are to the byte.
        const isRequest = format === 'anthropic' || format === 'atif'
        expect(stdout).toBe(isRequest ? text.replaceAll('\u202e', String.raw`\u202e`) : text)
        if (isRequest) expect(JSON.parse(json)).toEqual(JSON.parse(text))
        else if (format === 'palimpsest') expect(json).toBe(text)
        else expect(JSON.parse(json)).toEqual({ conversation: 'a', [fields.get(format) ?? 'text']: text })
      }
      await store.close()
    })
  })
})

test('a file of no known format is told all the names that it can be given', () => {
  const problem = recogniseText('{"a":1}')
  const named = E.isLeft(problem) ? /\(([^)]*)\)/.exec(problem.left.message)?.[1] : undefined
  expect(named?.split(/, | or /)).toEqual(formats)
})
