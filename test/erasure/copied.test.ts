import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it } from 'vitest'
import { openEvents } from '../../src/api/open.ts'
import { streamOf } from '../../src/events/ids.ts'
import { type Conversation, copyConversations, openStore, type Store } from '../../src/index.ts'
import { run } from '../../src/result/fallible.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { copyBetween } from '../../src/transfer/copy.ts'
import { atEnd } from '../support/at-end.ts'
import { right } from '../support/either.ts'
import { opus, start as startApi } from '../support/messages-api/client.ts'
import { program, start } from '../support/node.ts'
import { temporaryFolder } from '../support/stores.ts'

const card = '4111-2222-3333-4444'
const by = 'ann'
const user = (content: string) => ({ role: 'user' as const, content })

interface Side {
  readonly folder: string
  readonly url: string
  readonly store: Store
  readonly chat: Conversation
}

const newSide = async (): Promise<Side> => {
  const folder = temporaryFolder()
  const url = `sqlite:${join(folder, 'store.db')}?synchronous=off`
  const store = await openStore(url)
  atEnd(store.close)
  return { folder, url, store, chat: store.conversation('c') }
}

const isAnywhere = ({ folder }: Side): boolean =>
  readdirSync(folder).some((name) => readFileSync(join(folder, name)).includes(card))

const copy = async (from: Side, to: Side) => copyConversations({ from: from.url, to: to.url })

const large = `${card} ${'x'.repeat(100_000)}`

/** A conversation with a word in all its parts, and a copy of it that was searched. */
const filled = async () => {
  const [source, target] = [await newSide(), await newSide()]
  await source.chat.append([user(`My card is ${card}.`), user(large), user('Bye.')])
  await source.chat.note({ kind: 'title', data: `Card ${card}` })
  await copy(source, target)
  await target.store.catalogue.search(card)
  expect(isAnywhere(target)).toBe(true)
  // The contents of a copy are usually older.
  const db = new DatabaseSync(join(target.folder, 'store.db'))
  db.exec("UPDATE blobs SET time = '2026-01-01T00:00:00.000Z'")
  db.close()
  return { source, target }
}

/** Appends the last event of the source to the target, as copies did that erased nothing there. */
const bringErased = async (source: Side, target: Side): Promise<void> => {
  const [from, to] = [right(await openEvents(source.url)()), right(await openEvents(target.url)())]
  const end = {
    stream: streamOf('c'),
    from: Number.MAX_SAFE_INTEGER,
    direction: 'backwards',
    limit: 1,
  } as const
  const [last] = right(await from.read(end)())
  if (!last) throw new Error('the source is empty')
  const { stream, revision, id, type, data, metadata } = last
  expect(type).toBe('Erased')
  const events = [{ id, type, data, metadata }]
  right(await to.append({ stream, events, expected: revision - 1, repeat: 'each' })())
  await from.close()()
  await to.close()()
}

describe('a copy of a conversation of which content was erased', () => {
  it('erases it in the target, too, in every file, and goes on from there', async () => {
    const { source, target } = await filled()
    await source.chat.erase({ positions: [0, 1], notes: [0], by })
    await source.chat.append(user('Hello again.'))
    const erasedBeside = { notes: 1 }
    expect(await copy(source, target)).toEqual([{ id: 'c', events: 5, added: 2, erased: 3, erasedBeside }])
    expect(isAnywhere(target)).toBe(false)
    expect(await target.chat.verify()).toEqual(await source.chat.verify())
    await source.chat.append(user('And again.'))
    expect(await copy(source, target)).toEqual([{ id: 'c', events: 6, added: 1 }])
    await source.chat.erase({ by })
    expect(await copy(source, target)).toEqual([{ id: 'c', events: 7, added: 1, erased: 3 }])
    expect(await copy(source, target)).toEqual([{ id: 'c', events: 7, added: 0 }])
    expect(await target.chat.verify()).toEqual(await source.chat.verify())
  })

  it('erases it in the inbox and in the records of turns, too', async () => {
    const [source, target] = [await newSide(), await newSide()]
    const { chat } = source
    await chat.append([
      user('Delete it.'),
      { role: 'assistant', content: [{ type: 'tool_use', id: 'c', name: 'rm', input: {} }] },
    ])
    await chat.say(user(card), { whileBusy: 'enqueue' })
    await chat.append({ role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c', content: 'done' }] })
    await chat.pause({ by, reason: card })
    await chat.resume({ by })
    const { client } = await startApi({ reply: () => ({ content: [{ type: 'text', text: 'Done.' }] }) })
    await chat.turn({ client, model: opus })
    await copy(source, target)
    const { positions, inbox, turns } = await chat.erase({ by })
    expect(inbox).toBe(1)
    expect(turns).toBeGreaterThan(0)
    const erased = positions.length + inbox + turns
    const erasedBeside = { inbox, turns }
    expect(await copy(source, target)).toEqual([
      { id: 'c', events: positions.length + 1, added: 1, erased, erasedBeside },
    ])
    expect(isAnywhere(target)).toBe(false)
    expect(await target.chat.verify()).toEqual(await chat.verify())
  })

  it('erases it also if an earlier copy brought the record of it alone', async () => {
    const { source, target } = await filled()
    await source.chat.erase({ by })
    await bringErased(source, target)
    expect((await target.chat.verify()).discrepancy).toMatchObject({ kind: 'erased' })
    expect(await copy(source, target)).toEqual([
      { id: 'c', events: 4, added: 0, erased: 4, erasedBeside: { notes: 1 } },
    ])
    expect(isAnywhere(target)).toBe(false)
    expect(await target.chat.verify()).toEqual(await source.chat.verify())
  })

  it('is killed after it has erased it: the next one removes what is left of it', async () => {
    const { source, target } = await filled()
    await source.chat.erase({ positions: [0], notes: [0], by })
    const child = start(program('store/children/copier.ts'), source.url, target.url, '1')
    atEnd(() => void child.kill('SIGKILL'))
    if (!child.stdout) throw new Error('no output')
    await once(child.stdout, 'data')
    child.kill('SIGKILL')
    await once(child, 'exit')
    await source.chat.erase({ positions: [1], by })
    const [result] = await copy(source, target)
    expect(result).toMatchObject({ events: 5, erased: 1 })
    expect(result?.error).toBeUndefined()
    expect(isAnywhere(target)).toBe(false)
    expect(await target.chat.verify()).toEqual(await source.chat.verify())
  })

  it('erases more than a thousand events, of a fork, too', async () => {
    const [source, target] = [await newSide(), await newSide()]
    await source.chat.append([user('One.'), user('Two.')])
    const fork = await source.chat.fork('f', { at: 0 })
    await fork.append(Array.from({ length: 1_200 }, (_, n) => user(`${card}, ${n}`)))
    await copy(source, target)
    await fork.erase({ by })
    const erased = await copy(source, target)
    expect(erased).toEqual([
      { id: 'c', events: 2, added: 0 },
      { id: 'f', events: 1_203, added: 2, erased: 1_200 },
    ])
    expect(isAnywhere(target)).toBe(false)
    expect(await target.store.conversation('f').verify()).toEqual(await fork.verify())
  })

  it('leaves what is under a legal hold in the target, until it is released', async () => {
    const { source, target } = await filled()
    await target.chat.hold({ by: 'legal' })
    await source.chat.erase({ positions: [0, 1], notes: [0], by })
    const [held] = await copy(source, target)
    expect(held?.error).toMatchObject({
      _tag: 'CopyNotVerified',
      message: expect.stringContaining('legal hold of legal'),
    })
    expect(held?.erased).toBeUndefined()
    await target.chat.release({ by: 'legal' })
    expect(await copy(source, target)).toMatchObject([{ added: 0, erased: 3 }])
    expect(isAnywhere(target)).toBe(false)
  })

  it('leaves what is a subagent of a conversation under a legal hold in the target', async () => {
    const [source, target] = [await newSide(), await newSide()]
    await source.chat.append(user(card))
    await source.store.conversation('main').append(user('Hello.'))
    await source.chat.link({ relation: 'subagent-of', conversation: 'main' })
    await copy(source, target)
    await target.store.conversation('main').hold({ by: 'legal' })
    await source.chat.erase({ by })
    const message = expect.stringContaining(
      'because main is under the legal hold of legal there: release main',
    )
    expect((await copy(source, target))[0]?.error).toMatchObject({ _tag: 'CopyNotVerified', message })
    await target.store.conversation('main').release({ by: 'legal' })
    expect((await copy(source, target))[0]).toMatchObject({ id: 'c', erased: 1 })
    expect(isAnywhere(target)).toBe(false)
  })

  it('leaves what a fork under a legal hold in the target shows', async () => {
    const [source, target] = [await newSide(), await newSide()]
    await source.chat.append([user(card), user('Hello.'), user('Bye.')])
    await source.chat.fork('f', { at: 1 })
    await copy(source, target)
    await target.store.conversation('f').hold({ by: 'legal' })
    await source.chat.erase({ positions: [2], by })
    expect((await copy(source, target))[0]).toMatchObject({ id: 'c', erased: 1 })
    await source.chat.erase({ positions: [0], by })
    const [held] = await copy(source, target)
    const message = expect.stringContaining('because f is under the legal hold of legal there: release f')
    expect(held?.error).toMatchObject({ _tag: 'CopyNotVerified', message })
    expect(held?.erased).toBeUndefined()
    expect(JSON.stringify(await target.store.conversation('f').context())).toContain(card)
    await target.store.conversation('f').release({ by: 'legal' })
    expect((await copy(source, target))[0]).toMatchObject({ id: 'c', erased: 1 })
    expect(isAnywhere(target)).toBe(false)
  })

  it('takes a release along before it erases', async () => {
    const [source, target] = [await newSide(), await newSide()]
    await source.chat.append(user(card))
    await source.chat.hold({ by: 'legal' })
    await copy(source, target)
    await source.chat.release({ by: 'legal' })
    await source.chat.erase({ by })
    expect(await copy(source, target)).toEqual([{ id: 'c', events: 2, added: 2, erased: 1 }])
    expect(isAnywhere(target)).toBe(false)
  })

  it('fails if the target cannot overwrite events, and says what to do', async () => {
    const source = await newSide()
    await source.chat.append(user(card))
    const from = right(await openEvents(source.url)())
    const { scrub: _, ...to } = memoryStore()
    right(await run(copyBetween(from, to)))
    await source.chat.erase({ by })
    for (const added of [1, 0])
      expect(right(await run(copyBetween(from, to)))).toMatchObject([
        {
          added,
          error: { _tag: 'CopyNotVerified', message: expect.stringContaining('cannot overwrite events') },
        },
      ])
    await from.close()()
  })

  it('fails if the target has its own record of an erasure', async () => {
    const { source, target } = await filled()
    await target.chat.erase({ positions: [0], by })
    await source.chat.erase({ positions: [0], by })
    expect(await copy(source, target)).toMatchObject([{ error: { _tag: 'CopyDiverged' } }])
  })
})
