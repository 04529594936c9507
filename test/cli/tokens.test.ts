import { join } from 'node:path'
import Anthropic from '@anthropic-ai/sdk'
import { expect, test } from 'vitest'
import { countTokens } from '../../src/agent/context/tokens/tokens.ts'
import { thousands } from '../../src/cli/text.ts'
import { openStore } from '../../src/index.ts'
import { serve } from '../../src/server/serve.ts'
import { messagesApi } from '../../src/testing/messages-api/server.ts'
import { onTerminal } from '../support/on-terminal.ts'
import { text } from '../support/log.ts'
import { inDirectory, shell } from './palimpsest.ts'

test.each([
  // Its last event is a reply, but for a message after it, which is rewound.
  ['an import with usage', 'claude-code.jsonl', 32],
  ['an import without', 'openai.json', undefined],
  ['a recorded turn', undefined, undefined],
])('the tokens of %s are the same everywhere', (_, file, last) =>
  inDirectory(async (directory) => {
    if (file !== undefined) await shell(`palimpsest import examples/sessions/${file}`, directory)
    const api = await messagesApi({ reply: () => ({ content: [text('Done.')] }) })
    const store = await openStore(`sqlite:${join(directory, 'palimpsest.db')}`)
    if (file === undefined) {
      const chat = store.conversation('turn')
      await chat.append({ role: 'user', content: 'Do it. '.repeat(200) })
      const client = new Anthropic({ baseURL: api.url, apiKey: 'key' })
      await chat.turn({ client, model: 'claude-opus-5-5', system: 'Be brief.' })
    }
    const { url, close } = await serve({ store, port: 0 })
    const json = async (command: string): Promise<unknown> =>
      JSON.parse((await shell(`palimpsest ${command} --json`, directory)).stdout)
    let found = 0
    for await (const { id } of store.conversations()) {
      found++
      if (last !== undefined) await store.conversation(id).rewind({ to: last })
      const { tokens, isMeasured } = await store.catalogue.about(id)
      expect(countTokens(await store.conversation(id).context()).total).toBe(tokens)
      expect((await store.conversation(id).tokens()).total).toBe(tokens)
      expect((await store.catalogue.outline(id)).tokens.at(-1)).toBe(tokens)
      for (const path of [`${id}/about`, id]) {
        const answer = await fetch(`${url}/api/v1/conversations/${encodeURI(path)}`)
        expect(await answer.json()).toMatchObject({ tokens })
      }
      const listed = expect.arrayContaining([expect.objectContaining({ id, tokens, isMeasured })])
      expect(await json('list')).toMatchObject({ conversations: listed })
      for (const command of ['show', 'log'])
        expect(await json(`${command} ${id}`)).toMatchObject({ tokens, isMeasured })
      expect(await json(`stats ${id}`)).toMatchObject({ tokens: { total: tokens } })
      const words = `${isMeasured ? '' : 'about '}${thousands(tokens ?? 0)} tokens in context`
      for (const command of ['show', 'log', 'stats']) {
        const lines = await onTerminal(['--store', store.url, command, id], 200)
        expect(lines.join('\n')).toMatch(new RegExp(`(?:^|  )${words}`, 'm'))
      }
    }
    expect(found).toBeGreaterThan(0)
    await close()
    await store.close()
    await api.close()
  }),
)
