import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect } from 'vitest'
import { openStore, type Store } from '../../../src/index.ts'
import { program } from '../../cli/palimpsest.ts'
import { atEnd } from '../../support/at-end.ts'
import { withoutAccount } from '../../recorder/support/simulated-client.ts'
import type { ClientHome } from './run-client.ts'

/** A request that a stand-in has received. */
interface Received {
  readonly path: string
  readonly status: number
  readonly body: unknown
}

/** A running `palimpsest record` between a client and a stand-in. */
export interface ClientRecording {
  readonly url: string
  /** Ends it, and returns what it said. */
  readonly stop: () => Promise<string>
}

/** The store of the recordings in a client's HOME. */
export const recordedStore = ({ home }: ClientHome): string => `sqlite:${join(home, 'recorded.db')}`

/** Starts `palimpsest record` without a client, until the end of the test. */
export const startRecording = async (home: ClientHome, upstream: string): Promise<ClientRecording> => {
  const args = [await program(), 'record', '--store', recordedStore(home), '--upstream', upstream]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = once(child, 'exit')
  atEnd(async () => {
    child.kill('SIGKILL')
    await ended
  })
  const err = text(child.stderr)
  const [piece] = (await once(child.stdout, 'data')) as [Buffer]
  return {
    url: /ANTHROPIC_BASE_URL=(\S+)/.exec(piece.toString())?.[1] ?? '',
    stop: async () => {
      child.kill('SIGTERM')
      await ended
      return err
    },
  }
}

/**
 * Expects every answered request in the store, to the byte, with a receipt that proves it. Returns the ids of the conversations, with
 * the types of the events that changed their histories.
 */
export const expectRecorded = async (
  home: ClientHome,
  requests: readonly Received[],
): Promise<Readonly<Record<string, readonly string[]>>> => {
  const store: Store = await openStore(recordedStore(home))
  atEnd(store.close)
  const answered = requests.filter(
    ({ path, status }) => status === 200 && /\/(?:messages|responses)(?:\?|$)/.test(path),
  )
  const left = answered.map(({ body }) => withoutAccount(JSON.stringify(body)))
  const changes: Record<string, readonly string[]> = {}
  for await (const { id } of store.conversations()) {
    const chat = store.conversation(id)
    expect(await chat.verifyReceipts()).toMatchObject({ findings: [] })
    for await (const call of chat.calls()) {
      const { body, isSame, receipt } = await chat.sent(call)
      expect({ isSame, recorded: receipt.options['recorded'] }).toMatchObject({
        isSame: true,
        recorded: { body: { sha256: expect.stringMatching(/^[0-9a-f]{64}$/) } },
      })
      // A fork has the calls of its parent, too.
      const index = left.indexOf(JSON.stringify(body))
      if (index >= 0) left.splice(index, 1)
    }
    const own: string[] = []
    for await (const { type } of chat.events())
      if (type !== 'MessageAppended' && type !== 'Configured') own.push(type)
    changes[id] = own
  }
  expect(left).toEqual([])
  return changes
}
