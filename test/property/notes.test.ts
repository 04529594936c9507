import fc from 'fast-check'
import * as E from 'fp-ts/lib/Either.js'
import { describe, expect, test } from 'vitest'
import { storeOn } from '../../src/api/open.ts'
import type { ConversationCommand } from '../../src/commands/command.ts'
import type { ConversationHandle } from '../../src/conversation/conversation.ts'
import type { WriteError, WriteResult } from '../../src/fp.ts'
import { right } from '../support/either.ts'
import { collect } from '../support/eventstoredb/client.ts'
import { apply, steps } from '../support/histories.ts'
import type { Log } from '../../src/projections/path.ts'
import { runs } from '../support/runs.ts'
import { withoutSalts } from '../support/receipts.ts'
import { stores } from '../support/stores.ts'

/** What a command does to a conversation: its events, or why it is refused. Ids and times differ. */
const outcome = async (
  chat: ConversationHandle,
  { type, ...input }: ConversationCommand,
): Promise<unknown> => {
  const { messages, ...options } = input as { messages?: never }
  const done: E.Either<WriteError, WriteResult> = await (
    type === 'append' ? chat.append(messages ?? [], options) : chat[type](input as never)
  )()
  return E.isLeft(done)
    ? done.left._tag
    : [done.right.position, done.right.events.map(({ position, type: written }) => [position, written])]
}

/** All that the log says of a conversation, its name, ids and times left out. */
const seen = async (chat: ConversationHandle): Promise<unknown> => {
  const read = await Promise.all([
    chat.position()(),
    chat.context()(),
    chat.full({ abandoned: true })(),
    chat.full({ at: 1 })(),
  ])
  return JSON.parse(
    JSON.stringify(read, (key, value: unknown) =>
      key === 'messageId' || key === 'time' || key === 'id' ? undefined : value,
    ).replaceAll(chat.id, 'the conversation'),
  )
}

describe.each(Object.entries(stores))('in the %s store', (_, open) => {
  test('any notes between any commands leave everything as it is without them', async () => {
    const events = await open()
    const store = storeOn(events, { kind: 'test' })
    let n = 0
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(steps, fc.nat(2), fc.boolean()), { minLength: 2, maxLength: 14 }),
        async (story) => {
          const [plain, noted] = [store.conversation(`plain${++n}`), store.conversation(`noted${n}`)]
          let log: Log = []
          let notes = 0
          for (const [step, many, isFenced] of story) {
            const command = step(log)
            if (!command) continue
            const fenced = isFenced ? { ...command, after: log.length - 1 } : command
            log = apply(log, fenced)
            expect(await outcome(noted, fenced)).toEqual(await outcome(plain, fenced))
            for (let note = 0; log.length > 0 && note < many; note++)
              right(await noted.note({ kind: 'test/note', data: notes++ })())
          }
          if (log.length === 0) return
          expect(withoutSalts(await seen(noted))).toEqual(withoutSalts(await seen(plain)))
          expect(right(await noted.notes()()).map(({ data }) => data)).toEqual([...Array(notes).keys()])
          expect(right(await noted.verify({ file: false })())).not.toHaveProperty('discrepancy')
        },
      ),
      { numRuns: runs(12) },
    )
    await store.close()()
  })

  test('a list shows what is noted beside each conversation, whoever begins and notes what in which order', async () => {
    const events = await open()
    const writers = [storeOn(events, { kind: 'test' }), storeOn(events, { kind: 'test' })] as const
    let n = 0
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.tuple(
            fc.constantFrom('say', 'note', 'fork', 'list'),
            fc.nat(4),
            fc.nat(4),
            fc.constantFrom(0, 1),
          ),
          {
            minLength: 3,
            maxLength: 20,
          },
        ),
        async (story) => {
          const beginning = `list${++n}-`
          const begun = new Set<string>()
          const truth = async (id: string): Promise<readonly [string, string]> => {
            const notes = right(await writers[0].conversation(id).notes({ kind: 'title' })())
            const title = notes.at(-1)?.data
            return [id, typeof title === 'string' ? title : 'said']
          }
          for (const [index, [what, one, other, who]] of [...story, ['list', 0, 0, 1] as const].entries()) {
            const store = writers[who]
            const chat = store.conversation(`${beginning}${one}`)
            const fork = `${beginning}${other}`
            if (what === 'say') {
              right(await chat.append({ role: 'user', content: 'said' })())
              begun.add(chat.id)
            } else if (what === 'fork') {
              if (E.isRight(await chat.fork(fork)())) begun.add(fork)
            } else if (what === 'note') await chat.note({ kind: 'title', data: `${index}` })()
            else
              for (const sort of ['newest', 'id'] as const) {
                const listed = await collect(store.conversations({ sort, beginning }))
                const titles = new Map(listed.map(({ id, title }) => [id, title]))
                expect(titles).toEqual(new Map(await Promise.all([...begun].map(truth))))
              }
          }
        },
      ),
      { numRuns: runs(15) },
    )
    await writers[0].close()()
  })
})
