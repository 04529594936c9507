import { join } from 'node:path'
import Anthropic from '@anthropic-ai/sdk'
import { expect, test } from 'vitest'
import { openStore } from '../../src/index.ts'
import { messagesApi } from '../../src/testing/messages-api/server.ts'
import { text, toolUse } from '../support/log.ts'
import { inDirectory, shell } from './palimpsest.ts'

const pay = { ...toolUse('toolu_1', { euros: 5 }), name: 'pay' }
const tools = [{ name: 'pay', input_schema: { type: 'object' } }]

test('a call waits until somebody has decided about it on the command line', () =>
  inDirectory(async (directory) => {
    const api = await messagesApi({ reply: (_, n) => ({ content: n === 0 ? [pay] : [text('Done.')] }) })
    const client = new Anthropic({ baseURL: api.url, apiKey: 'key' })
    const paid: unknown[] = []
    const run = { pay: { run: (input: unknown) => paid.push(input), approve: true } }
    const turn = async () => {
      const store = await openStore(`sqlite:${join(directory, 'palimpsest.db')}`)
      const chat = store.conversation('c')
      if (!(await chat.exists())) await chat.append({ role: 'user', content: 'Pay.' })
      const turned = await chat.turn({ client, model: 'claude-opus-5-5', tools, run })
      await store.close()
      return turned
    }
    const says = async (command: string) => {
      const { stdout, stderr, code } = await shell(`palimpsest ${command}`, directory, { USER: 'ann' })
      return code === 0 ? stdout : `${code}: ${stderr}`
    }
    await turn()
    expect(await says('waiting c')).toBe('2\tapprove?\ttoolu_1\tpay\t{"euros":5}\n')
    expect(JSON.parse(await says('waiting c --json'))).toMatchObject([{ call: 'toolu_1', why: 'approval' }])
    for (const call of ['t', 'toolu_'])
      expect(await says(`approve c ${call}`)).toBe(
        `1: error: ${call} is too short to name a call: type its id, or at least 8 characters of it after toolu_; these calls wait: toolu_1\n`,
      )
    expect(await says('deny c')).toBe('2: error: name the call: these calls wait: toolu_1\n')
    expect(await says('approve c toolu_2')).toBe(
      '1: error: call toolu_2 of c does not wait for an approval; these calls wait: toolu_1\n',
    )
    expect(await says('withdraw c toolu_1')).toBe(
      '1: error: no approval of call toolu_1 of c was withdrawn: nobody has decided on it\n',
    )
    expect(await says('approve c toolu_1')).toBe('approved toolu_1 of c, by ann\n')
    expect(await says('withdraw c toolu_1')).toBe('withdrew the approval of toolu_1 of c, by ann\n')
    expect(await says(`approve c toolu_1 --input '{"euros": 4}'`)).toBe('approved toolu_1 of c, by ann\n')
    expect(await says('deny c toolu_1 --by bob')).toMatch(
      /^1: error: call toolu_1 of c was approved by ann at .*: the first decision counts\n$/,
    )
    expect(await says('waiting c')).toBe('')
    expect(await turn()).toMatchObject({ content: [text('Done.')] })
    expect(paid).toEqual([{ euros: 4 }])
    const log = await says('log c --turns')
    expect(log).toContain('toolu_1 waits for an approval')
    expect(log.match(/toolu_1 approved by ann/g)).toHaveLength(2)
    const { turns } = JSON.parse(await says('log c --turns --json')) as { turns: { type: string }[] }
    expect(turns.filter(({ type }) => type === 'CallDecided')).toHaveLength(2)
    expect(await says('log c')).not.toContain('approved')
    await api.close()
  }))

test('a call may be named by eight characters after the beginning that all ids have', () =>
  inDirectory(async (directory) => {
    const store = await openStore(`sqlite:${join(directory, 'palimpsest.db')}`)
    const chat = store.conversation('c')
    await chat.append({ role: 'user', content: 'Pay.' })
    const call = { ...toolUse('toolu_0123456789', {}), name: 'pay' }
    const api = await messagesApi({ reply: () => ({ content: [call] }) })
    const client = new Anthropic({ baseURL: api.url, apiKey: 'key' })
    const run = { pay: { run: () => 'paid', approve: true } }
    await chat.turn({ client, model: 'claude-opus-5-5', tools, run })
    await api.close()
    await store.close()
    const denied = async (named: string) => {
      const { stdout, stderr } = await shell(`palimpsest deny c ${named} --by ann`, directory)
      return stdout || stderr
    }
    expect(await denied('toolu_0123456')).toContain('toolu_0123456 is too short to name a call')
    expect(await denied('toolu_01234567')).toBe('denied toolu_0123456789 of c, by ann\n')
    expect(await denied('')).toBe('error: no call of c waits\n')
  }))
