import { setTimeout as sleep } from 'node:timers/promises'
import { openEvents, storeOn } from '../src/api/open.ts'
import { orThrow } from '../src/result/fallible.ts'

/** Counts the reads of a load that wait for one another: in a store that answers reads together, once all that can be asked are. */
export const roundTrips = async (url: string, id: string): Promise<number> => {
  const events = await orThrow(openEvents(url))
  let waiting: (() => void)[] = []
  const answered = (): Promise<void> => new Promise((resolve) => void waiting.push(resolve))
  const store = storeOn(
    { ...events, read: (range) => async () => answered().then(events.read(range)) },
    { kind: 'bench' },
  )
  let isDone = false
  const loading = store
    .conversation(id)
    .effective()()
    .then(() => (isDone = true))
  let rounds = 0
  for (;;) {
    await sleep(20)
    if (waiting.length === 0 && isDone) break
    if (waiting.length === 0) continue
    rounds++
    const answers = waiting
    waiting = []
    for (const answer of answers) answer()
  }
  await loading
  await events.close()()
  return rounds
}
