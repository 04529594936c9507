import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Anthropic from '@anthropic-ai/sdk'
import { describe, expect, test } from 'vitest'
import { widthOf } from '../../src/cli/text.ts'
import { openStore } from '../../src/index.ts'
import { messagesApi } from '../../src/testing/messages-api/server.ts'
import { toolUse } from '../support/log.ts'
import { onTerminal } from '../support/on-terminal.ts'
import { inDirectory, shell } from './palimpsest.ts'

test('the list is by last activity, or by when conversations began in the store, or by id', () =>
  inDirectory(async (directory) => {
    await shell('palimpsest append now --role user --text Hello.', directory)
    const line = {
      sessionId: 'imported',
      uuid: 'u0',
      parentUuid: null,
      type: 'user',
      timestamp: '2024-01-01T10:00:00.000Z',
      message: { role: 'user', content: 'Hi.' },
    }
    writeFileSync(join(directory, 'session.jsonl'), JSON.stringify(line))
    await shell('palimpsest import session.jsonl', directory)
    const idsBy = async (sort: string): Promise<readonly string[]> => {
      const { stdout, stderr } = await shell(`palimpsest list ${sort}`, directory)
      expect(stderr).toBe('')
      return stdout
        .trim()
        .split('\n')
        .map((row) => row.split('\t')[0] ?? '')
    }
    expect(await idsBy('')).toEqual(['now', 'imported'])
    expect(await idsBy('--sort activity')).toEqual(['now', 'imported'])
    expect(await idsBy('--sort begun')).toEqual(['imported', 'now'])
    expect(await idsBy('--sort newest')).toEqual(['imported', 'now'])
    expect(await idsBy('--sort id')).toEqual(['imported', 'now'])
    expect((await shell('palimpsest list --limit 1', directory)).stdout).toMatch(/^now\t/)
  }))

const usage = { input_tokens: 12_000, output_tokens: 345 }

/** Runs work in a folder with a store of five conversations: what was active last needs nobody. */
const inStore = (work: (store: readonly string[], directory: string) => Promise<void>): Promise<void> =>
  inDirectory(async (directory) => {
    const api = await messagesApi({ reply: () => ({ content: [{ ...toolUse('toolu_1'), name: 'pay' }] }) })
    const url = `sqlite:${join(directory, 'palimpsest.db')}`
    const store = await openStore(url)
    const pay = store.conversation('pay')
    await pay.append({ role: 'user', content: 'Pay the invoice.' })
    await pay.turn({
      client: new Anthropic({ baseURL: api.url, apiKey: 'key' }),
      model: 'claude-opus-5-5',
      tools: [{ name: 'pay', input_schema: { type: 'object' } }],
      run: { pay: { run: () => 'paid', approve: true } },
    })
    await pay.fork('pay-fork')
    const result = { type: 'tool_result', tool_use_id: 'a', content: 'No.', is_error: true } as const
    await store.conversation('look').append([
      { role: 'user', content: '日本語の題名'.repeat(12) },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'look', input: {} }] },
      { role: 'user', content: [result] },
      { role: 'assistant', content: 'It fails.', origin: { model: 'claude-opus-4-5', usage } },
    ])
    await store.conversation('odd').append({ role: 'user', content: '\u202eexe.gpj \u001b[31m' })
    await store.conversation('last').append([
      { role: 'user', content: 'Hi.' },
      { role: 'assistant', content: 'Hi.' },
    ])
    await store.close()
    await work(['--store', url], directory)
    await api.close()
  })

describe('the list says what the list of the page says', () => {
  test('in columns for which the terminal has room, with what needs somebody first', () =>
    inStore(async (store) => {
      const wide = await onTerminal([...store, 'list'], 120)
      expect(wide[0]).toMatch(
        /^status +conversation +events +tokens +cost, \$ +errors +model +last activity +title$/,
      )
      expect(wide.map((line) => /(?:approval|working|idle) +([\w-]+)/.exec(line)?.[1])).toEqual([
        undefined,
        'pay',
        'pay-fork',
        'last',
        'odd',
        'look',
        undefined,
      ])
      expect(wide[1]).toMatch(/^needs approval +pay .* opus-5-5 +\d+ s ago +pay waits: Pay the invoice\.$/)
      expect(wide[3]).toMatch(/^idle +last +2 +~\d+ +0\.00 +– +– +\d+ s ago +Hi\.$/)
      expect(wide[4]).toMatch(/\\u\{202e\}exe\.gpj ␛\[31m$/)
      expect(wide[5]).toMatch(/^idle +look +4 +12\.3k +0\.07 +1 +opus-4-5 +\d+ s ago +日本.*…$/)
      expect(wide[6]).toBe('5 conversations: 1 needs approval, 1 working, 1 with errors')
      const narrow = await onTerminal([...store, 'list'], 80)
      expect(narrow[0]).not.toContain('model')
      expect(narrow[0]).toMatch(/last activity +title$/)
      for (const [lines, columns] of [
        [wide, 120],
        [narrow, 80],
        [await onTerminal([...store, 'list'], 200), 200],
        [await onTerminal([...store, 'list'], 60), 60],
      ] as const)
        for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(columns)
      expect((await onTerminal([...store, 'list', '--limit', '2'], 120))[1]).toContain(' pay ')
    }))

  test('and filters it with the same words, in a pipe and as JSON', () =>
    inStore(async (_, directory) => {
      const ids = async (options: string): Promise<readonly string[]> =>
        (await shell(`palimpsest list ${options}`, directory)).stdout
          .split('\n')
          .flatMap((line) => line.split('\t')[0] || [])
      expect(await ids('')).toEqual(['last', 'odd', 'look', 'pay-fork', 'pay'])
      expect(await ids('--status needs-approval')).toEqual(['pay'])
      expect(await ids('--status working,needs-approval')).toEqual(['odd', 'pay'])
      expect(await ids('--errors')).toEqual(['look'])
      expect(await ids('--has forked')).toEqual(['pay-fork'])
      expect(await ids('--model claude-opus-4-5')).toEqual(['look'])
      expect(await ids('--actor nobody')).toEqual([])
      expect((await ids('--sort tokens'))[0]).toBe('look')
      const wrong = await shell('palimpsest list --status done', directory)
      expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining('needs-approval, working') })
      const line = (await shell('palimpsest list --errors', directory)).stdout.trimEnd().split('\t')
      expect(line.slice(5)).toEqual(['idle', '12345', '0.068625', '1', 'claude-opus-4-5'])
      const { stdout } = await shell('palimpsest list --json', directory)
      const { conversations } = JSON.parse(stdout) as { readonly conversations: readonly unknown[] }
      const store = await openStore(`sqlite:${join(directory, 'palimpsest.db')}`)
      const { items } = await store.catalogue.find()
      // Pictures are for the page.
      const pictures = { curve: undefined, curveMarks: undefined, marks: undefined }
      for (const [index, facts] of items.entries())
        expect({ ...Object(conversations[index]), ...pictures }).toMatchObject({ ...facts, ...pictures })
      await store.close()
    }))

  test('a conversation that is indexed no further is listed with its problem, and an index that is filled anew is named', () =>
    inStore(async (_, directory) => {
      const before = (await shell('palimpsest list', directory)).stdout
      rmSync(join(directory, 'palimpsest.db-index.1'))
      const { stdout, stderr, code } = await shell('palimpsest list', directory)
      expect({ stdout, code }).toEqual({ stdout: before, code: 0 })
      expect(stderr).toMatch(/^(?:the index is being filled, once: later lists need not wait\n)?$/)
    }))
})
