import { DatabaseSync } from 'node:sqlite'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openStore, type Conversation, type Store } from '../../src/index.ts'
import { temporaryFolder, temporaryServer } from '../support/stores.ts'
import { opus, start } from '../support/messages-api/client.ts'
import { atEnd } from '../support/at-end.ts'

const card = '4111-2222-3333-4444'
const secret = `My card is ${card}, please keep it.`

interface Scene {
  readonly folder: string
  readonly file: string
  readonly store: Store
  readonly chat: Conversation
}

const scene = async (options: Parameters<typeof openStore>[1] = {}): Promise<Scene> => {
  const folder = temporaryFolder()
  const file = join(folder, 'store.db')
  const store = await openStore(`sqlite:${file}`, options)
  atEnd(store.close)
  return { folder, file, store, chat: store.conversation('task-42') }
}

/** Reports whether any file of the store has the words, as they are. */
const isAnywhere = ({ folder }: Scene, words = card): boolean =>
  readdirSync(folder).some((name) => readFileSync(join(folder, name)).includes(words))

const textsOf = async (chat: Conversation): Promise<readonly unknown[]> =>
  (await chat.effective()).map((item) => (item.kind === 'message' ? item.content[0]?.['text'] : item.kind))

const user = (content: string) => ({ role: 'user' as const, content })
const assistant = (content: string) => ({ role: 'assistant' as const, content })
const by = 'ann'

describe('what is erased', () => {
  it('is a message, of which place, role, time and hash stay, and what repeats it is named', async () => {
    const given = await scene()
    const { chat, store } = given
    await chat.append([user(secret), assistant(`Noted: ${card}.`), user('Thanks.')])
    await chat.note({ kind: 'title', data: `Card ${card}` })
    // A link from another conversation is not among the notes of this one, by whose numbers it could be erased.
    const other = store.conversation('other')
    await other.append(user('See there.'))
    await other.link({ relation: 'about', conversation: 'task-42', ref: `https://example.org/${card}` })
    const erased = await chat.erase({ positions: [0], by, reason: 'request 17' })
    expect(erased).toMatchObject({ positions: [0], notes: 0, turns: 0, inbox: 0, contents: 0, recent: 0 })
    expect(erased.repeated.map(({ place, of }) => ({ ...place, of }))).toEqual([
      { kind: 'event', position: 1, of: [0] },
      { kind: 'note', position: 0, of: [0] },
    ])
    await chat.erase({ positions: [1], notes: [0], by })
    await other.erase({ by })
    expect(isAnywhere(given)).toBe(false)
    expect(await textsOf(chat)).toEqual(['[erased]', '[erased]', 'Thanks.'])
    expect(await chat.verify()).toEqual({
      conversation: 'task-42',
      events: 5,
      erased: 3,
      erasedBeside: { notes: 1 },
      notes: 1,
    })
    for await (const record of chat.events({ from: 3, to: 3 }))
      expect(record).toMatchObject({
        type: 'Erased',
        data: { events: { ranges: [{ first: 0, last: 0 }] }, by, reason: 'request 17' },
      })
  })

  it('is everything, by default: notes, the inbox, the records of calls', async () => {
    const given = await scene()
    const { chat } = given
    await chat.append([
      user('Delete it.'),
      { role: 'assistant', content: [{ type: 'tool_use', id: 'c', name: 'rm', input: {} }] },
    ])
    await chat.say(user(secret), { whileBusy: 'enqueue' })
    await chat.append({ role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c', content: 'done' }] })
    await chat.note({ kind: 'test/card', data: { card } })
    await chat.link({ relation: 'about', ref: `https://example.org/${card}` })
    await chat.pause({ by, reason: `the card ${card}` })
    await chat.resume({ by })
    await expect(chat.erase()).rejects.toMatchObject({
      _tag: 'CannotErase',
      message: expect.stringContaining('inbox'),
    })
    const { client } = await start({ reply: () => ({ content: [{ type: 'text', text: 'Done.' }] }) })
    await chat.turn({ client, model: opus })
    const erased = await chat.erase({ by })
    expect(erased).toMatchObject({ positions: [0, 1, 2, 3, 4, 5], notes: 2, inbox: 1, repeated: [] })
    expect(erased.turns).toBeGreaterThan(0)
    expect(isAnywhere(given)).toBe(false)
    expect((await chat.verify()).discrepancy).toBeUndefined()
    expect(await chat.erase({ by })).toMatchObject({ positions: [], notes: 0, turns: 0, inbox: 0 })
  })

  it('is large content, too, unless another event refers to it', async () => {
    const given = await scene({ largeContent: 1_024 })
    const { file, store, chat } = given
    const large = (name: string): string => `${name} ${card} `.repeat(200)
    await chat.append([user(large('own')), user(large('shared'))])
    await store.conversation('other').append(user(large('shared')))
    const db = new DatabaseSync(file)
    db.exec("UPDATE blobs SET time = '2026-01-01T00:00:00.000Z'")
    db.close()
    expect(await chat.erase({ positions: [0, 1], by })).toMatchObject({ contents: 1, recent: 0 })
    expect(isAnywhere(given, `own ${card}`)).toBe(false)
    expect(isAnywhere(given, `shared ${card}`)).toBe(true)
    expect(await textsOf(store.conversation('other'))).toEqual([large('shared')])
    expect((await chat.verify()).discrepancy).toBeUndefined()
  })

  it('is large content that an earlier erasure had to leave, once it is repeated', async () => {
    const given = await scene({ largeContent: 1_024 })
    const { file, chat } = given
    await chat.append(user(secret.repeat(100)))
    expect(await chat.erase({ by })).toMatchObject({ contents: 0, recent: 1 })
    expect(await chat.erase({ by })).toMatchObject({ contents: 0, recent: 1 })
    const db = new DatabaseSync(file)
    db.exec("UPDATE blobs SET time = '2026-01-01T00:00:00.000Z'")
    db.close()
    expect(await chat.erase({ by })).toMatchObject({ positions: [], contents: 1, recent: 0 })
    expect(isAnywhere(given)).toBe(false)
  })

  it('is what is older than a time', async () => {
    const { chat } = await scene()
    for (const month of [1, 2, 3])
      await chat.append(user(`Of month ${month}.`), { now: new Date(Date.UTC(2026, month)) })
    await chat.erase({ before: new Date(Date.UTC(2026, 2)), by })
    expect(await textsOf(chat)).toEqual(['[erased]', 'Of month 2.', 'Of month 3.'])
  })

  it('is gone for forks, for other processes that had read it, and from the index', async () => {
    const given = await scene()
    const { file, store, chat } = given
    await chat.append([user(secret), assistant('Noted.')])
    const fork = await chat.fork('fork')
    const others = await openStore(`sqlite:${file}`)
    atEnd(others.close)
    const other = others.conversation('task-42')
    await other.append(user('Still there?'))
    await other.truncate({ keepFirst: 1, keepLast: 1 })
    expect((await store.catalogue.search(card)).items).not.toEqual([])
    expect((await others.catalogue.search(card)).items).not.toEqual([])
    await chat.erase({ positions: [0], by })
    await other.append(user('And now?'))
    for (const each of [chat, fork, other, others.conversation('fork')])
      expect((await textsOf(each))[0]).toBe('[erased]')
    await other.rewind({ to: 2 })
    expect((await textsOf(other))[0]).toBe('[erased]')
    expect((await store.catalogue.search(card)).items).toEqual([])
    expect((await others.catalogue.search(card)).items).toEqual([])
    expect(isAnywhere(given)).toBe(false)
    expect((await fork.verify()).discrepancy).toBeUndefined()
  })
})

describe('nothing is erased', () => {
  const refused = (chat: Conversation, options: object, message: RegExp) =>
    expect(chat.erase(options)).rejects.toMatchObject({
      _tag: 'CannotErase',
      message: expect.stringMatching(message),
    })

  it('under a legal hold, which says whose it is', async () => {
    const { chat } = await scene()
    await chat.append(user(secret))
    await chat.hold({ by: 'legal', reason: 'case 7' })
    expect(await chat.legalHold()).toMatchObject({ by: 'legal', reason: 'case 7' })
    await refused(chat, {}, /legal hold of legal .*case 7/)
    await chat.release({ by: 'legal' })
    expect(await chat.legalHold()).toBeUndefined()
    expect(await chat.erase({ by })).toMatchObject({ positions: [0] })
    expect((await chat.notes()).map(({ data }) => data)).toEqual([
      { by: 'legal', reason: 'case 7' },
      { by: 'legal', released: true },
    ])
  })

  it('until every name that holds it has released it', async () => {
    const { chat } = await scene()
    await chat.append(user(secret))
    await chat.hold({ by: 'legal', reason: 'case 7' })
    const { since = '' } = (await chat.legalHold()) ?? {}
    await chat.hold({ by: 'tax' })
    await chat.hold({ by: 'legal', reason: 'case 8' })
    expect(await chat.legalHold()).toMatchObject({
      by: 'legal',
      reason: 'case 7',
      since,
      others: [{ by: 'tax' }],
    })
    await expect(chat.release({ by: 'ann' })).rejects.toMatchObject({
      _tag: 'CannotRelease',
      message: expect.stringMatching(
        /under the legal hold of legal since .*, not of ann: palimpsest release task-42 --by legal/,
      ),
    })
    await chat.release({ by: 'tax' })
    await refused(chat, {}, /legal hold of legal .*case 7/)
    await chat.hold({ by: 'tax' })
    await chat.release({ by: 'legal' })
    await refused(chat, {}, /legal hold of tax/)
    expect(await chat.legalHold()).toEqual({ by: 'tax', since: expect.any(String) })
    await chat.release({ by: 'tax' })
    expect(await chat.legalHold()).toBeUndefined()
    expect(await chat.erase({ by })).toMatchObject({ positions: [0] })
  })

  it('that a fork under a legal hold shows, also a fork of a fork; what it does not show is erased', async () => {
    const { chat, store } = await scene()
    await chat.append([user(secret), user('Two.'), user('Three.')])
    const fork = await chat.fork('fork', { at: 1 })
    const nested = await fork.fork('nested', { at: 0 })
    await fork.append(user('Own.'))
    const held = (name: string, position: number): RegExp =>
      new RegExp(
        `nothing of .* task-42 .* fork ${name}, which shows event ${position}, is under the legal hold of`,
      )
    expect(await chat.erase({ positions: [1], by, dryRun: true })).toMatchObject({ positions: [1] })
    await fork.hold({ by: 'legal', reason: 'case 7' })
    await nested.hold({ by: 'tax' })
    for (const more of [{}, { dryRun: true }]) {
      await refused(chat, { positions: [1, 2], ...more }, held('fork', 1))
      await refused(chat, { ...more }, held('fork', 0))
    }
    expect(await chat.erase({ positions: [2], by })).toMatchObject({ positions: [2] })
    await fork.release({ by: 'legal' })
    expect(await chat.erase({ positions: [1], by })).toMatchObject({ positions: [1] })
    await refused(chat, { positions: [0] }, held('nested', 0))
    // The fork has no event that the fork of it shows.
    expect(await fork.erase({ by })).toMatchObject({ positions: [3] })
    expect(await textsOf(nested)).toEqual([secret])
    await store.conversation('nested').release({ by: 'tax' })
    expect(await chat.erase({ by })).toMatchObject({ positions: [0] })
  })

  it('of a subagent of a held conversation, or of a subagent of it; its links say so, on either side', async () => {
    const { chat, store } = await scene()
    const [first, second, third, other] = ['a', 'b', 'c', 'other'].map((id) => store.conversation(id))
    const all = [chat, first, second, third, other] as readonly Conversation[]
    for (const each of all) await each.append([user(secret), user('Two.')])
    await chat.link({ relation: 'has-subagent', conversation: 'a', call: 'c1' })
    await second?.link({ relation: 'subagent-of', conversation: 'a' })
    // A cycle, and a session that was never imported.
    await second?.link({ relation: 'has-subagent', conversation: 'a' })
    await second?.link({ relation: 'has-subagent', conversation: 'gone' })
    const fork = await chat.fork('fork', { at: 0 })
    await third?.link({ relation: 'subagent-of', conversation: 'task-42', position: 1 })
    await chat.hold({ by: 'legal', reason: 'case 7' })
    expect(await chat.legalHold()).toMatchObject({ by: 'legal', covers: ['a', 'b', 'c'] })
    expect(await second?.legalHold()).toMatchObject({ by: 'legal', conversation: 'task-42' })
    const held =
      /is a subagent of a, a subagent of task-42, which is under the legal hold of legal .*case 7.*release task-42 first/
    for (const dryRun of [true, false]) await refused(store.conversation('b'), { dryRun }, held)
    await refused(store.conversation('a'), { positions: [1] }, /it is a subagent of task-42, which is under/)
    await refused(store.conversation('c'), {}, /subagent of task-42/)
    await expect(second?.release({ by: 'legal' })).rejects.toMatchObject({
      _tag: 'CannotRelease',
      message: expect.stringContaining('as a subagent of task-42'),
    })
    expect(await other?.erase({ by })).toMatchObject({ positions: [0, 1], subagents: [] })
    await chat.release({ by: 'legal' })
    // A fork shows the call that started the subagent, or does not.
    await fork.hold({ by: 'tax' })
    expect(await fork.legalHold()).toMatchObject({ covers: ['a', 'b'] })
    await refused(store.conversation('a'), {}, /subagent of task-42, shown by fork fork, which is under/)
    expect(await third?.erase({ by })).toMatchObject({ positions: [0, 1] })
    await fork.release({ by: 'tax' })
    expect(await second?.erase({ by })).toMatchObject({ positions: [0, 1], subagents: ['a'] })
  })

  it('of its subagents unless they are asked for, and of none of them if one is held', async () => {
    const { chat, store } = await scene()
    const [one, two] = [store.conversation('a'), store.conversation('b')]
    for (const each of [chat, one, two]) await each.append(user(secret))
    for (const each of [one, two]) await each.link({ relation: 'subagent-of', conversation: 'task-42' })
    expect(await chat.erase({ positions: [0], dryRun: true })).toMatchObject({ subagents: ['a', 'b'] })
    await two.hold({ by: 'legal' })
    await refused(chat, { withSubagents: true }, /conversation b was erased: it is under the legal hold/)
    expect(await textsOf(chat)).toEqual([secret])
    expect(await textsOf(one)).toEqual([secret])
    await two.release({ by: 'legal' })
    await expect(chat.erase({ positions: [0], withSubagents: true })).rejects.toMatchObject({
      _tag: 'InvalidInput',
    })
    const all = {
      subagents: [],
      fromSubagents: [{ conversation: 'a' }, { conversation: 'b', positions: [0] }],
    }
    expect(await chat.erase({ by, withSubagents: true, dryRun: true })).toMatchObject(all)
    expect(await textsOf(two)).toEqual([secret])
    expect(await chat.erase({ by, withSubagents: true })).toMatchObject(all)
    for (const each of [chat, one, two]) expect(await textsOf(each)).toEqual(['[erased]'])
    expect(await chat.erase({ by })).toMatchObject({ positions: [], subagents: [] })
  })

  it('of a conversation that it was forked from, of a position that is not there', async () => {
    const { chat } = await scene()
    await chat.append([user('One.'), user('Two.')])
    const fork = await chat.fork('fork')
    await fork.append(user('Three.'))
    await refused(fork, { positions: [1] }, /belongs to task-42/)
    await refused(fork, { positions: [2] }, /records the fork/)
    await expect(fork.erase({ positions: [9] })).rejects.toMatchObject({ _tag: 'OutOfRange' })
    await expect(chat.erase({ positions: [-1] })).rejects.toMatchObject({ _tag: 'InvalidInput' })
    await expect(chat.erase({ befor: 1 } as object)).rejects.toMatchObject({ _tag: 'InvalidInput' })
    expect(await chat.erase({ positions: [0], dryRun: true })).toMatchObject({ positions: [0] })
    expect(await textsOf(chat)).toEqual(['One.', 'Two.'])
  })

  it('in a store that cannot overwrite events', async () => {
    const server = await temporaryServer()
    const store = await openStore(server.url)
    atEnd(store.close)
    const chat = store.conversation('task-42')
    await chat.append(user(secret))
    await refused(chat, {}, /cannot overwrite/)
    expect(await textsOf(chat)).toEqual([secret])
  })
})

describe('verify', () => {
  const changed = ({ file }: Scene, sql: string): void => {
    const db = new DatabaseSync(file)
    db.exec(sql)
    db.close()
  }
  const wrong = async ({ chat }: Scene) => (await chat.verify()).discrepancy

  it('finds content that is gone without a record', async () => {
    const given = await scene()
    await given.chat.append([user(secret), user('Bye.')])
    const copy = await scene()
    await copy.chat.append(user('Before.'))
    await given.chat.erase({ positions: [1], by })
    changed(given, "DELETE FROM events WHERE type = 'Erased'; UPDATE streams SET last = NULL, hash = NULL")
    expect(await wrong(given)).toMatchObject({ kind: 'erased', position: 1 })
  })

  it('finds that what is left was changed, and that content is there again; erasing again removes it', async () => {
    const given = await scene()
    await given.chat.append([user(secret), user('Bye.')])
    const db = new DatabaseSync(given.file)
    const before = db.prepare('SELECT data, metadata FROM events WHERE revision = 0').get() ?? {}
    db.close()
    await given.chat.erase({ positions: [0], by })
    changed(given, `UPDATE events SET data = replace(data, '"user"', '"assistant"') WHERE revision = 0`)
    expect(await wrong(given)).toMatchObject({ kind: 'erased', position: 0 })
    const again = new DatabaseSync(given.file)
    again
      .prepare('UPDATE events SET data = ?, metadata = ? WHERE revision = 0')
      .run(String(before['data']), String(before['metadata']))
    again.close()
    expect(await wrong(given)).toMatchObject({ kind: 'erased', position: 0 })
    expect(await given.chat.erase({ again: true, by })).toMatchObject({ positions: [0] })
    expect(await wrong(given)).toBeUndefined()
    expect(isAnywhere(given)).toBe(false)
  })

  it('finds content in an event that is marked as erased', async () => {
    const given = await scene()
    await given.chat.append([user(secret), user('Bye.')])
    await given.chat.erase({ positions: [0], by })
    changed(given, `UPDATE events SET data = replace(data, '[erased]', 'something else') WHERE revision = 0`)
    expect(await wrong(given)).toMatchObject({ kind: 'undecodable', position: 0 })
  })

  it('finds that an erased event has another type or id', async () => {
    const given = await scene()
    const { chat } = given
    await chat.append(user(secret))
    await chat.pause({ by, reason: card })
    await chat.resume({ by, reason: card })
    await chat.erase({ by })
    expect(await wrong(given)).toBeUndefined()
    changed(given, `UPDATE events SET type = 'TurnsPaused' WHERE type = 'TurnsResumed'`)
    expect(await wrong(given)).toMatchObject({ kind: 'erased' })
    changed(given, `UPDATE events SET type = 'TurnsResumed' WHERE type = 'TurnsPaused' AND revision = 2`)
    expect(await wrong(given)).toBeUndefined()
    changed(
      given,
      `UPDATE events SET id = '00000000-0000-5000-8000-000000000000' WHERE type = 'MessageAppended'`,
    )
    expect(await wrong(given)).toMatchObject({ kind: 'erased', position: 0 })
  })
})
