import { mkdir, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { messageAt } from './messages.ts'
import type { OpenPeer } from './peers/peer.ts'
import { answering } from './processes.ts'

const script = new URL('./children/peer.mjs', import.meta.url)

/** Which peer, in which variant, and under which Node. */
export interface Entry {
  readonly file: string
  readonly variant?: string
  readonly node?: 'own' | 'system'
  /** Variables of its environment. */
  readonly variables?: NodeJS.ProcessEnv
}

interface Answer {
  readonly ms: number
  readonly found?: number
  readonly name: string
  readonly durable: boolean
  readonly has: readonly string[]
}

/** A peer in a process of its own, with the conversation that it writes. Times are in milliseconds, as taken in that process. */
export interface Entrant {
  readonly name: string
  readonly durable: boolean
  readonly has: (what: keyof OpenPeer) => boolean
  /** Appends so many messages, each on its own; returns the time of all of them. */
  readonly append: (count: number) => Promise<number>
  /** Appends until the conversation has so many messages, one at a time unless the peer is to be seeded. */
  readonly growTo: (messages: number, isSeeded: boolean) => Promise<void>
  readonly compact: (keepLast: number) => Promise<void>
  /** Reads with the store opened anew, which is not counted. Rejects if it does not get `expected` messages. */
  readonly read: (what: 'last' | 'all', expected: number) => Promise<number>
  /** Opens the store in a new process and reads the effective history; the import of the peer's code is not counted. */
  readonly cold: (expected: number) => Promise<number>
  /** Bytes of its files, the store closed and write-ahead logs moved into their files. */
  readonly bytes: () => Promise<number>
  readonly close: () => Promise<void>
}

/** Starts a peer in a folder of its own. Rejects with the reason if it does not run here. */
export const enter = async (
  { file, variant = '', node = 'own', variables }: Entry,
  folder: string,
): Promise<Entrant> => {
  const own = join(folder, `${file}-${variant}`)
  await mkdir(own, { recursive: true })
  const start = () => answering(script, [file, own, variant], node, variables)
  const { ask: send, close } = start()
  const ask = async (...request: readonly unknown[]): Promise<Answer> => (await send(request)) as Answer
  let written = 0
  const next = (count: number) => Array.from({ length: Math.max(0, count) }, () => messageAt(written++))
  const append = async (count: number): Promise<number> => (await ask('append', next(count))).ms
  const { name, durable, has } = await ask('open').catch(async (error: unknown) => {
    await close()
    throw error
  })
  const asExpected = ({ ms, found }: Answer, expected: number): number => {
    if (found !== expected)
      throw new Error(`${name} gave back ${found} messages where ${expected} were expected`)
    return ms
  }
  return {
    name,
    durable,
    has: (what) => has.includes(what),
    append,
    growTo: async (messages, isSeeded) => {
      await ask(isSeeded && has.includes('seed') ? 'seed' : 'append', next(messages - written))
    },
    compact: async (keepLast) => {
      await ask('compact', messageAt(written).content, keepLast)
    },
    read: async (what, expected) => {
      await ask('close')
      await ask('open')
      return asExpected(await ask(what, expected), expected)
    },
    cold: async (expected) => {
      const fresh = start()
      try {
        const opened = (await fresh.ask(['open'])) as Answer
        return opened.ms + asExpected((await fresh.ask(['effective'])) as Answer, expected)
      } finally {
        await fresh.close()
      }
    },
    bytes: async () => {
      await ask('close')
      for (const each of await readdir(own)) if (each.endsWith('.db')) checkpoint(join(own, each))
      const files = await Promise.all((await readdir(own)).map((each) => stat(join(own, each))))
      await ask('open')
      return files.reduce((sum, { size }) => sum + size, 0)
    },
    close: async () => {
      await ask('close')
      await close()
    },
  }
}

/** Closing the store does that too, but not for Mastra. */
const checkpoint = (file: string): void => {
  const db = new DatabaseSync(file, { timeout: 5_000 })
  db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  db.close()
}
