import { appendFileSync } from 'node:fs'
import Anthropic from '@anthropic-ai/sdk'
import { openStore } from '../../../../src/index.ts'
import { steeredTools } from './steered-tools.ts'

// Gives turns to the conversation until it is killed, or nothing is left to do. Arguments: store, API, file.

const [url = '', baseURL = '', file = ''] = process.argv.slice(2)
const store = await openStore(url)
const chat = store.conversation('c')
const tell = (word: string): void => appendFileSync(file, `${word}\n`)
for (;;) {
  const turned = await chat.turn({
    client: new Anthropic({ baseURL, apiKey: 'key' }),
    model: 'claude-opus-5-5',
    ...steeredTools(tell),
  })
  if (turned.ended === 'stop') break
  for (const { call } of turned.waiting) await chat.approve(call, { by: 'ann' })
}
await store.close()
