import { join } from 'node:path'
import Anthropic from '@anthropic-ai/sdk'
import { expect, test } from 'vitest'
import { openStore } from '../../src/index.ts'
import { messagesApi } from '../../src/testing/messages-api/server.ts'
import { text } from '../support/log.ts'
import { inDirectory, shell } from './palimpsest.ts'

test('what is said on the command line while a turn is given waits, or is refused, or cancels it', () =>
  inDirectory(async (directory) => {
    const says = async (command: string) => {
      const { stdout, stderr, code } = await shell(`palimpsest ${command}`, directory, { USER: 'ann' })
      return code === 0 ? stdout : `${code}: ${stderr}`
    }
    expect(await says('say c "Is it there?"')).toBe('recorded in c, at position 0\n')
    expect(await says('say c "" --while-busy later')).toMatch(/^2: .*Allowed choices are enqueue, interrupt/s)
    let isFirst = true
    const api = await messagesApi({
      reply: async () => {
        if (!isFirst) return { content: [text('Yes.')] }
        isFirst = false
        expect(await says('say c "Wait."')).toBe(
          'queued for c, which awaits the model or results: the running or the next turn appends it\n',
        )
        expect(JSON.parse(await says('say c "Please." --json'))).toMatchObject({
          status: 'queued',
          conversation: 'c',
        })
        expect(await says('say c "No." --while-busy reject')).toMatch(
          /^1: error: c is waiting for the model or for tool results/,
        )
        expect(await says('waiting c --queued')).toMatch(/^\S+Z\tWait\.\n\S+Z\tPlease\.\n$/)
        expect(JSON.parse(await says('waiting c --queued --json'))).toMatchObject([
          { messages: [{ content: 'Wait.' }] },
          {},
        ])
        expect(await says('cancel c --reason "wrong file"')).toBe(
          'cancelled the current turn of c, if there was one\n',
        )
        return new Promise<never>(() => {})
      },
    })
    const store = await openStore(`sqlite:${join(directory, 'palimpsest.db')}`)
    const client = new Anthropic({ baseURL: api.url, apiKey: 'key' })
    const turn = () => store.conversation('c').turn({ client, model: 'claude-opus-5-5' })
    await expect(turn()).rejects.toMatchObject({ _tag: 'TurnCancelled', by: 'ann', reason: 'wrong file' })
    expect(await says('copy --from sqlite:palimpsest.db --to sqlite:other.db')).not.toMatch(/^1/)
    expect(await says('waiting c --queued --store sqlite:other.db')).toMatch(
      /^\S+Z\tWait\.\n\S+Z\tPlease\.\n$/,
    )
    expect(await turn()).toMatchObject({ calls: 1 })
    expect(await says('waiting c --queued')).toBe('')
    expect(await says('verify')).toContain('c')
    expect(await says('list')).toContain('c')
    await store.close()
    await api.close()
  }))
