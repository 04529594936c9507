import type { Message, NewMessage } from '../../src/core.ts'
import { type Conversation, openStore } from '../../src/index.ts'
import { bisect } from '../../src/investigate/index.ts'
import { evolveEffective } from '../../src/projections/effective.ts'
import { receiptOf } from '../../src/agent/receipts/receipt.ts'
import { requestOf } from '../../src/agent/receipts/request.ts'
import { right } from './either.ts'
import { saltOf } from './receipts.ts'

/** How much is said in the large conversation, in characters: the model sees all of it. */
export const largeContent = 50_000_000

const words = ['größer', 'parser', '“line”', 'the', 'token', 'stops', 'index', 'forgets', 'every', 'commit']
const options = { renderer: 1, cache: '5m' } as const

const metadata = { schema: 1, time: '', actor: { kind: 'user' }, commandId: '', prev: null }

/** Writes an agent's conversation, whose replies have receipts. */
const write = async (chat: Conversation): Promise<void> => {
  let drawn = 1
  const said = (): string => {
    let text = ''
    while (text.length < 40_000) {
      drawn = (drawn * 1_103_515_245 + 12_345) % 2 ** 31
      text += `${words[drawn % words.length]} ${drawn % 977} `
    }
    return text
  }
  let now = await chat.context()
  const add = async (message: Message & Pick<NewMessage, 'origin'>): Promise<void> => {
    const position = now.at + 1
    const salted = { ...metadata, salt: saltOf(`${position}`) }
    await chat.append(message, { salt: salted.salt })
    const event = { id: '', position, type: 'MessageAppended', data: message, metadata: salted } as const
    now = evolveEffective(now, [event]) ?? now
  }
  for (let n = 0; 2 * n * 40_000 < largeContent; n++) {
    const context = receiptOf(now, right(requestOf(now, options)), options)
    const id = `toolu_${n}`
    const call = { type: 'tool_use', id, name: 'read', input: { path: said() } } as const
    await add({ role: 'assistant', content: [call], origin: { model: 'claude-opus-5-5', context } })
    await add({ role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: said() }] })
  }
}

/** Writes a conversation `large`, with an index and a bisection. Returns the id of the bisection. */
export const writeLarge = async (url: string): Promise<string> => {
  const store = await openStore(url)
  const chat = store.conversation('large')
  await chat.configure({ system: 'You mend parsers.', model: 'claude-opus-5-5' })
  await chat.append({ role: 'user', content: 'Go on.' })
  await write(chat)
  await store.catalogue.overview('large')
  const { id } = await bisect(chat, { good: -1, bad: 300 })
  await store.close()
  return id
}
