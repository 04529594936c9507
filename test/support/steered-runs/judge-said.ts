import { expect } from 'vitest'
import type { Stored } from './judge.ts'
import { blocksIn, type Raw, saidIn } from './raw-log.ts'
import { type Observed, rewinder } from './run.ts'

export const judgeSaid = ({ spoken, chats, isSettled }: Observed, stored: readonly Stored[]): void => {
  for (const one of stored) judgeWrites(one)
  for (const { number, chat, status } of spoken) {
    const of = stored.find(({ id }) => id === chat) as Stored
    const isThere = [...of.log, ...of.inbox].some((event) => numbersIn(event).includes(number))
    expect(isThere, `whether said-${number} (${status}) is there`).toBe(status !== 'refused')
  }
  for (const { id, log, paths, inbox } of stored) {
    if (isSettled && id === chats.at(-1))
      expect(pendingIn(inbox), 'what waits in the inbox at the end').toEqual([])
    // What was queued is in the log, or still waits.
    const numbers = log.flatMap(numbersIn)
    const pending = pendingIn(inbox)
    for (const number of inbox.flatMap(numbersIn))
      expect([...numbers, ...pending], `said-${number}`).toContain(number)
    const said = saidOn(log, paths.at(-1) ?? [])
    const own = spoken.filter(({ by, number }) => by === 'say' && said.includes(number))
    for (const before of own)
      for (const after of own)
        if (before.ended < after.begun)
          expect(said.indexOf(before.number), `the order of ${said.join(' ')}`).toBeLessThan(
            said.indexOf(after.number),
          )
  }
}

/** Each write leaves what was said before it where it is, in its order, and adds to its end, if at all; but for what is taken back. */
const judgeWrites = ({ log, paths }: Stored): void => {
  let before: readonly number[] = []
  for (const [index, event] of log.entries()) {
    const { commandId, actor } = event.metadata
    if (log[index + 1]?.metadata.commandId === commandId) continue
    const now = saidOn(log, paths[index] ?? [])
    expect(new Set(now).size, `said twice at ${index}: ${now.join(' ')}`).toBe(now.length)
    const isMeant = actor.id === rewinder.id
    if (!isMeant) expect(now.slice(0, before.length), `what was said, after ${index}`).toEqual(before)
    before = now
  }
}

const numbersIn = (event: Raw): readonly number[] =>
  event.type === 'Queued'
    ? (event.data['messages'] as { content: string }[]).flatMap(({ content }) => saidIn(content))
    : event.data['role'] === 'user'
      ? saidIn(blocksIn(event))
      : []

const saidOn = (log: readonly Raw[], path: readonly number[]): readonly number[] =>
  path.flatMap((position) => numbersIn(log[position] as Raw))

const pendingIn = (inbox: readonly Raw[]): readonly number[] => {
  const taken = Math.max(
    -1,
    ...inbox.flatMap(({ type, data }) => (type === 'Taken' ? [Number(data['through'])] : [])),
  )
  return inbox.filter(({ position }) => position > taken).flatMap(numbersIn)
}
