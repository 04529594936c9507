import { describe, expect, it } from 'vitest'
import type { Conversation, Store } from '../../../src/index.ts'
import { recordedSession } from '../../support/recorded-session.ts'
import { opened } from '../../support/stores.ts'

type Fields = Readonly<Record<string, unknown>>

const { lines, bodies, betas } = recordedSession()
const whole = lines.join('')

const importing = (store: Store, text: string) => store.importSession({ file: 'f', text })

const imported = async (text = whole): Promise<Conversation> => {
  const store = await opened('memory:')
  await importing(store, text)
  return store.conversation('recorded')
}

const callsOf = async (chat: Conversation) => {
  const calls = []
  for await (const call of chat.calls()) calls.push(call)
  return calls
}

const bodiesOf = async (chat: Conversation): Promise<readonly unknown[]> => {
  const sent = []
  for (const call of await callsOf(chat)) sent.push((await chat.sent(call)).body)
  return sent
}

const eventsOf = async (chat: Conversation) => {
  const events = []
  for await (const event of chat.events()) events.push(event)
  return events
}

/** The file as an earlier version reads it: without its requests. */
const withoutRequests = (text: string): string =>
  text
    .split('\n')
    .filter((line) => !line.includes('"type":"api-request'))
    .map((line) => line.replace(/,?"requestRef":"\w+"/, ''))
    .join('\n')

describe('the requests that Claude Code records', () => {
  it('are rebuilt as they were sent', async () => {
    const chat = await imported()
    expect(await bodiesOf(chat)).toEqual(bodies)
    expect(await chat.sent(1)).toMatchObject({ isSame: true, betas })
    expect(await chat.verifyReceipts()).toEqual({ conversation: 'recorded', receipts: 4, findings: [] })
  })

  it('are counted in the report, with the reasons for those left out', async () => {
    const { report } = await importing(await opened('memory:'), whole)
    const kinds = (list: readonly { readonly kind: string }[]) =>
      list.filter(({ kind }) => kind.startsWith('api-request'))
    expect(kinds(report.mapped)).toEqual([
      { kind: 'api-request-shape', count: 1 },
      { kind: 'api-request-blob', count: 7 },
      { kind: 'api-request', count: 4 },
    ])
    expect(kinds(report.leftOut)).toEqual([
      { kind: 'api-request', count: 1, reason: 'the file has no reply to it' },
    ])
  })

  it('have their configuration in the log, right before the reply, whenever it changes', async () => {
    const configured = (await eventsOf(await imported())).filter(({ type }) => type === 'Configured')
    expect(configured.map(({ position }) => position)).toEqual([4, 14])
    expect(configured[1]?.data).toMatchObject({
      model: 'claude-made-up',
      system: [{ text: 'You are a made-up agent.' }, {}],
      tools: [{ name: 'Read' }, { name: 'Run' }],
      parameters: { output_config: { effort: 'high' } },
    })
  })

  it('have receipts without any of their text', async () => {
    const receipts = JSON.stringify((await callsOf(await imported())).map(({ receipt }) => receipt))
    for (const word of ['secret', 'Place', 'Rules', 'plan', 'Monday', 'Done'])
      expect(receipts).not.toContain(word)
  })

  it('are the same in a file that is imported in two parts, wherever it is cut', async () => {
    const at = await imported()
    const items = async (chat: Conversation) =>
      (await chat.effective()).map((item) => ({
        ...item,
        position: 0,
        salt: '',
        origin: undefined,
        covers: 0,
      }))
    for (let cut = 1; cut < lines.length; cut++) {
      const store = await opened('memory:')
      const part = await importing(store, lines.slice(0, cut).join('')).catch((error: Fields) => error)
      // Nothing but settings of the client before the first message.
      if ('_tag' in part) expect(part).toMatchObject({ isWithoutMessages: true })
      await importing(store, whole)
      const chat = store.conversation('recorded')
      expect(await chat.verifyReceipts(), `cut at ${cut}`).toMatchObject({ findings: [] })
      // A reply that was cut is recorded twice: the first time on an abandoned branch.
      const texts = new Set((await bodiesOf(chat)).map((body) => JSON.stringify(body)))
      expect(
        [...texts].map((text) => JSON.parse(text) as unknown),
        `cut at ${cut}`,
      ).toEqual(bodies)
      expect(await items(chat)).toEqual(await items(at))
    }
  })

  it('do not change a session that an earlier version imported, and are there for its new replies', async () => {
    for (const first of [
      whole,
      lines
        .slice(
          0,
          lines.findIndex((line) => line.includes('"uuid":"b1"')),
        )
        .join(''),
    ]) {
      const store = await opened('memory:')
      await importing(store, withoutRequests(first))
      const chat = store.conversation('recorded')
      const before = await eventsOf(chat)
      await importing(store, first)
      expect(await eventsOf(chat)).toEqual(before)
      await importing(store, whole)
      expect((await eventsOf(chat)).slice(0, before.length)).toEqual(before)
      expect(await chat.verifyReceipts()).toMatchObject({ receipts: first === whole ? 0 : 1, findings: [] })
      expect(await bodiesOf(chat)).toEqual(first === whole ? [] : [bodies[3]])
    }
  })

  it('are continued in full if the earlier replies have no receipts', async () => {
    const cut = lines.findIndex((line) => line.includes('"uuid":"u3"'))
    const store = await opened('memory:')
    await importing(store, withoutRequests(lines.slice(0, cut).join('')))
    await importing(store, whole)
    const chat = store.conversation('recorded')
    expect(await chat.verifyReceipts()).toMatchObject({ receipts: 2, findings: [] })
    expect(await bodiesOf(chat)).toEqual(bodies.slice(2))
  })

  it('are not checkable once they showed erased content', async () => {
    const chat = await imported()
    await chat.erase({ positions: [0] })
    expect(await chat.verifyReceipts()).toEqual({
      conversation: 'recorded',
      receipts: 1,
      findings: [],
      erased: 3,
    })
    expect(JSON.stringify((await chat.sent(1)).body)).not.toContain('secret')
    expect(await chat.sent(1)).toMatchObject({ isSame: false, finding: { kind: 'erased' } })
  })

  it('are not made of what is left of erased content', async () => {
    const cut = lines.findIndex((line) => line.includes('"uuid":"u3"'))
    const store = await opened('memory:')
    await importing(store, lines.slice(0, cut).join(''))
    const chat = store.conversation('recorded')
    await chat.erase({ positions: [0] })
    await importing(store, whole)
    // The last one no longer shows it.
    expect(await chat.verifyReceipts()).toMatchObject({ receipts: 1, findings: [], erased: 2 })
  })

  it('are left out if they show what no entry tells, or do not have their hash', async () => {
    const damaged = [
      whole
        .replaceAll('Write a body.', 'Write.')
        .replace(
          '"rendered":[{"content":"<system-reminder>\\nRules',
          '"rendered":[{"content":"<system-reminder>\\nOther',
        ),
      whole.replace('"keep":4', '"keep":5'),
      whole.replace('"type":"api-request-shape"', '"type":"api-request-form"'),
      whole.replace(/"hash":"[0-9a-f]{64}"/, `"hash":"${'0'.repeat(64)}"`),
    ]
    for (const text of damaged) {
      const store = await opened('memory:')
      const { report } = await importing(store, text)
      expect(report.leftOut.filter(({ kind }) => kind === 'api-request')).not.toHaveLength(0)
      expect(await store.conversation('recorded').verifyReceipts()).toMatchObject({ findings: [] })
    }
  })

  it('are told apart from replies whose request the file does not have', async () => {
    const chat = await imported()
    const events = await eventsOf(chat)
    const last = events.at(-1)
    expect(last).toMatchObject({ data: { role: 'assistant' } })
    expect(last?.data).not.toHaveProperty('origin.context')
  })
})
