import { appendFileSync } from 'node:fs'
import Anthropic from '@anthropic-ai/sdk'
import { openStore } from '../../../../src/index.ts'

// One turn whose tools tell of themselves in a file, and one of which never ends. Arguments: store, API, file.

const [url = '', baseURL = '', file = ''] = process.argv.slice(2)
const store = await openStore(url)
const tell = (word: string) => (): string => {
  appendFileSync(file, `${word}\n`)
  return word
}
await store.conversation('c').turn({
  client: new Anthropic({ baseURL, apiKey: 'key' }),
  model: 'claude-opus-5-5',
  run: {
    read: { run: tell('read'), idempotent: true },
    write: tell('write'),
    hang: () =>
      new Promise(() => {
        tell('hang')()
        setInterval(() => {}, 1_000)
      }),
  },
})
