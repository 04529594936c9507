import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { openStore } from '../../../src/index.ts'
import { memoryStore } from '../../../src/store/memory/store.ts'
import type { EventStore, RecordedEvent } from '../../../src/store/port.ts'
import { atEnd } from '../../support/at-end.ts'
import { newSigner, say } from './scene.ts'

/** A store far away: an answer about a conversation takes so many turns of the loop. Tells of how many conversations reads were under way at once. */
const distant = (store: EventStore, turnsFor: (stream: string) => number, tampered: ReadonlySet<string>) => {
  const asked = new Map<string, number>()
  let most = 0
  const altered = (event: RecordedEvent): RecordedEvent =>
    tampered.has(event.stream) ? { ...event, data: event.data.replace('Hello.', 'Other.') } : event
  const read: EventStore['read'] = (range) => async () => {
    const { stream } = range
    if (!stream.startsWith('conversation-')) return store.read(range)()
    asked.set(stream, (asked.get(stream) ?? 0) + 1)
    most = Math.max(most, [...asked.values()].filter((reads) => reads > 0).length)
    for (let left = turnsFor(stream); left > 0; left--) await turn()
    asked.set(stream, (asked.get(stream) ?? 0) - 1)
    const answer = await store.read(range)()
    return answer._tag === 'Left' ? answer : { ...answer, right: answer.right.map(altered) }
  }
  return { store: { ...store, read }, most: () => most, forget: () => (most = 0) }
}

test('an audit checks four conversations at once, and tells what it finds in their order', async () => {
  const ids = Array.from({ length: 9 }, (_, n) => `c${n}`)
  const events = memoryStore()
  const writer = await openStore(events)
  const signer = await newSigner()
  await writer.audit.init({ signer })
  await say(writer, ids)
  await writer.audit.seal({ signer })
  const wrong = ['c0', 'c2', 'c3', 'c7']
  // The later one begins, the sooner it is done.
  const { store, most, forget } = distant(
    events,
    (stream) => 10 - Number(stream.at(-1)),
    new Set(wrong.map((id) => `conversation-${id}`)),
  )
  const auditor = await openStore(store)
  atEnd(auditor.close)
  const found = []
  const atOnce = []
  for await (const one of auditor.audit.verify()) {
    found.push(one)
    // The entries come first, and then the conversations.
    const isSecond = one.type === 'problem' && one.kind === 'conversation' && one.conversation === 'c0'
    if (isSecond || one.type === 'done') atOnce.push(most())
    if (isSecond) forget()
  }
  const problems = found.flatMap((one) => (one.type === 'problem' ? [[one.kind, one.conversation]] : []))
  expect(problems).toEqual(['entry', 'conversation'].flatMap((kind) => wrong.map((id) => [kind, id])))
  expect(found.at(-1)).toMatchObject({ type: 'done', conversations: 9, events: 5, problems: 8 })
  expect(atOnce).toEqual([4, 4])
})
