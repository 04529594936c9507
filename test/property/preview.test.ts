import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type CommandInput, type Conversation, openStore } from '../../src/index.ts'
import type { ConversationEvent } from '../../src/events/events.ts'
import { steps } from '../support/histories.ts'
import { runs } from '../support/runs.ts'
import { withoutSalts } from '../support/receipts.ts'
import { atEnd } from '../support/at-end.ts'

const carriedOut = (chat: Conversation, command: CommandInput): Promise<unknown> => {
  if (command.type !== 'append') {
    const { type, ...input } = command
    return (chat[type] as (given: object) => Promise<unknown>)(input)
  }
  const { type: _, messages, ...options } = command
  return chat.append(messages, options)
}
const came = <A>(work: Promise<A>): Promise<A | { readonly refused: unknown }> =>
  work.catch((error: unknown) => ({ refused: (error as { readonly _tag: string })._tag }))

const logOf = async (chat: Conversation): Promise<readonly ConversationEvent[]> => {
  const log: ConversationEvent[] = []
  try {
    for await (const event of chat.events()) log.push(event)
  } catch {
    // There is no conversation yet.
  }
  return log
}

describe('a preview', () => {
  test('says what the command does when it is carried out then, and writes nothing', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(steps, { minLength: 1, maxLength: 25, size: 'max' }), async (all) => {
        const store = await openStore('memory:')
        const chat = store.conversation('c')
        for (const step of all) {
          const log = await logOf(chat)
          const command = step(log)
          if (!command) continue
          const previewed = await came(chat.preview(command as CommandInput))
          expect((await logOf(chat)).length).toBe(log.length)
          const written = await came(carriedOut(chat, command as CommandInput))
          if ('refused' in previewed) {
            expect(written).toEqual(previewed)
            continue
          }
          const now = (await logOf(chat)).slice(log.length)
          expect(now.map(({ type, data }) => ({ type, data }))).toEqual(
            JSON.parse(JSON.stringify(previewed.events)),
          )
          expect(previewed.position).toBe(log.length - 1)
          // A configuration may come before anything can be seen.
          if (log.length + now.length === 0) continue
          const { items, head, at } = await chat.context()
          const { after } = previewed
          const shown = (these: typeof items) => these.map((item) => ({ ...item, time: '', messageId: '' }))
          expect({ at: after.at, head: after.head }).toEqual({ at, head })
          expect(withoutSalts(shown(after.items))).toEqual(withoutSalts(shown(items)))
        }
        await store.close()
      }),
      { numRuns: runs(60) },
    )
  })

  test('is refused as the command is, for a type that there is not and fields of another', async () => {
    const store = await openStore('memory:')
    atEnd(store.close)
    const chat = store.conversation('c')
    await expect(chat.preview({ type: 'erase' } as never)).rejects.toMatchObject({ path: 'type' })
    await expect(chat.preview({ type: 'undo', turns: 1 } as never)).rejects.toMatchObject({ path: 'turns' })
    await expect(chat.preview({ type: 'undo' })).rejects.toMatchObject({ _tag: 'ConversationNotFound' })
    await expect(chat.preview({ type: 'append', messages: [] })).rejects.toMatchObject({ path: 'messages' })
  })
})
