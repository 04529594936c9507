import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { newKeyFile } from '../../src/audit.ts'
import { openStore, type Store } from '../../src/index.ts'
import { messageAt } from '../messages.ts'
import { atLeast, duration, type PartResult } from '../report.ts'
import { alternate, type Contender, ratioOf, timeOf } from '../rounds.ts'

/** Milliseconds of a round: longer than a sealer waits between two looks at the store. */
const length = 5_500
const child = new URL('../children/sealing.ts', import.meta.url)

interface Appending extends Contender {
  readonly close: () => Promise<void>
}

const appending = (name: string, store: Store, close: () => Promise<void>): Appending => {
  let n = 0
  return {
    name,
    round: async () => {
      const [began, first] = [performance.now(), n]
      for (; performance.now() - began < length; n++)
        await store.conversation(`task-${n % 10}`).append(messageAt(n))
      return (performance.now() - began) / (n - first)
    },
    close,
  }
}

/** An appender with a sealer in another process, or in its own. */
const sealed = async (folder: string, name: string, where: 'beside' | 'inside'): Promise<Appending> => {
  const url = `sqlite:${join(folder, `${where}.db`)}`
  const key = join(folder, `${where}.key`)
  const store = await openStore(url)
  const signer = await newKeyFile(key)
  await store.audit.init({ signer })
  if (where === 'inside') {
    const ending = new AbortController()
    const following = store.audit.follow({ signer, signal: ending.signal })
    return appending(name, store, async () => {
      ending.abort()
      await following
      await store.close()
    })
  }
  const sealer: ChildProcess = fork(child, [url, key], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
  await once(sealer, 'message')
  return appending(name, store, async () => {
    sealer.kill('SIGTERM')
    await once(sealer, 'exit')
    await store.close()
  })
}

/** What appends take while a sealer follows the store. */
export const beside = async (folder: string, isQuick: boolean): Promise<PartResult> => {
  const plain = await openStore(`sqlite:${join(folder, 'plain.db')}`)
  const contenders = [
    appending('without', plain, () => plain.close()),
    await sealed(folder, 'beside', 'beside'),
    await sealed(folder, 'inside', 'inside'),
  ]
  const times = await alternate(contenders, isQuick ? 2 : 6)
  for (const { close } of contenders) await close()
  return {
    title: 'Append while a sealer follows the store (SQLite, durable)',
    figures: [
      { what: 'an append without a sealer', figure: duration(timeOf(times, 'without')) },
      atLeast(
        'with a sealer in another process, appends a second',
        1 / ratioOf(times, 'beside', 'without'),
        0.95,
      ),
      atLeast(
        'with a sealer in the same process, appends a second',
        1 / ratioOf(times, 'inside', 'without'),
        0.95,
      ),
    ],
    notes: [
      'One appender to ten conversations, as fast as it can, in rounds of 5.5 seconds; sealers as they are by default: they look at the store every five seconds.',
    ],
  }
}
