import { join } from 'node:path'
import { fileAnchor, newKeyFile } from '../../src/audit.ts'
import { loadSample, sampleIds } from '../../src/cli/sample.ts'
import { openStore, type Signer, type Store } from '../../src/index.ts'

export const conversation = sampleIds[0]
export const origin = 'example.com/support'

/** A store that was sealed and anchored on two days, and a bundle of a conversation. */
export interface Made {
  readonly folder: string
  readonly store: string
  /** The file as it was on the first day. */
  readonly older: string
  /** The folder of the checkpoints, which is somewhere else. */
  readonly anchor: string
  /** The verifier key that the auditor was given when the ledger began. */
  readonly key: string
  readonly bundle: string
  readonly events: number
  readonly requests: number
}

export const make = async (folder: string): Promise<Made> => {
  const file = join(folder, 'store.db')
  const older = join(folder, 'older.db')
  const anchor = join(folder, 'elsewhere/')
  const store = await openStore(`sqlite:${file}`)
  try {
    const signer = await newKeyFile(join(folder, 'audit.key'))
    const { key } = await store.audit.init({ signer, origin })
    await store.conversation('day-one').append({ role: 'user', content: 'Who is on call this week?' })
    await seal(store, signer, anchor)
    await store.backup(older)
    await loadSample(store)
    await seal(store, signer, anchor)
    const bundle = join(folder, 'evidence')
    const ledger = await store.audit.proof(conversation, { compare: true })
    const { events, requests } = await store.conversation(conversation).evidence({ folder: bundle, ledger })
    return { folder, store: file, older, anchor, key, bundle, events, requests }
  } finally {
    await store.close()
  }
}

const seal = (store: Store, signer: Signer, anchor: string): Promise<unknown> =>
  store.audit.seal({ signer, anchors: [fileAnchor(anchor)] })
