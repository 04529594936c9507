import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import * as E from 'fp-ts/lib/Either.js'
import { newKeyFile } from '../../src/audit.ts'
import { parseKey } from '../../src/audit/ledger/keys.ts'
import { verifyEvidence } from '../../src/audit/evidence/verify.ts'
import { openStore } from '../../src/index.ts'
import { instantClient, turnOptions } from '../instant-client.ts'
import { messageAt } from '../messages.ts'
import { atMost, count, duration, type PartResult } from '../report.ts'
import { median, timed } from '../rounds.ts'

const events = 100_000
const calls = 1_000

/** What bundles weigh, and how long both verifiers take for one. */
export const evidence = async (folder: string, isQuick: boolean): Promise<PartResult> => {
  const rounds = isQuick ? 1 : 5
  const store = await openStore(`sqlite:${join(folder, 'store.db')}?synchronous=off`)
  const long = store.conversation('long')
  for (let from = 0; from < events; from += 1_000)
    await long.append(Array.from({ length: 1_000 }, (_, index) => messageAt(from + index)))
  const agent = store.conversation('agent')
  let looked = 0
  const run = { look: () => messageAt(looked++).content }
  await agent.append({ role: 'user', content: messageAt(0).content })
  await agent.turn({ ...turnOptions, run, client: instantClient(calls - 1).client })
  const signer = await newKeyFile(join(folder, 'key.pem'))
  const { key } = await store.audit.init({ signer })
  await store.audit.seal({ signer })
  const exported = async (id: string) => {
    const where = join(folder, id)
    const ledger = await store.audit.proof(id, { entries: true })
    return { where, ...(await store.conversation(id).evidence({ folder: where, ledger })) }
  }
  let bundle = { where: '' }
  const spent = await timed(async () => {
    bundle = await exported('long')
  })
  const { bytes, requests, where } = await exported('agent')
  await store.close()

  const pinned = parseKey(key)
  if (E.isLeft(pinned)) throw new Error(pinned.left.message)
  // Ends otherwise than with 0 unless the bundle is proven.
  const python = (of: string) => (): unknown =>
    execFileSync('python3', ['-I', join(of, 'verify.py'), of, '--key', key])
  const ours = (of: string) => async (): Promise<void> => {
    const { verdict } = await verifyEvidence(of, pinned.right)
    if (verdict !== 'proven') throw new Error(verdict)
  }
  const taken = async (work: () => unknown): Promise<number> => {
    const times: number[] = []
    for (let round = 0; round < rounds; round++) times.push(await timed(work))
    return median(times)
  }
  return {
    title: 'Evidence: bundles, and both programs that check them',
    figures: [
      atMost(
        `${count(events)} events of 1 KB, checked by verify.py`,
        await taken(python(bundle.where)),
        5_000,
        duration,
      ),
      atMost('the same by `palimpsest audit verify`', await taken(ours(bundle.where)), 5_000, duration),
      { what: 'exporting them', figure: duration(spent) },
      atMost(
        `a bundle with ${count(requests)} requests beside the bytes of its events`,
        (bytes.events + bytes.requests) / bytes.events,
        3,
      ),
      { what: 'this one, checked by verify.py', figure: duration(await taken(python(where))) },
    ],
    notes: [
      'The median of five; verify.py in a process of its own, whose start is counted, and with the key of the ledger given.',
      'The requests are those of one turn of an agent: each has all that was said before, and is the answer to a call of a tool, 1 KB of text each.',
      ...(isQuick ? ['Measured once.'] : []),
    ],
  }
}
