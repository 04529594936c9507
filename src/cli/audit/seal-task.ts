import type { Signer } from '../../audit/ledger/keys.ts'
import { isError, type Store } from '../../index.ts'
import { pause } from '../../result/timers.ts'
import { failureOf } from '../errors.ts'
import { openAnchors } from './anchors.ts'

/** Options for sealing in the background: the key, and the places where checkpoints are kept. */
export interface SealingOptions {
  /** Path of the key file. */
  readonly seal?: string | undefined
  readonly anchor?: readonly string[] | undefined
}

export const sealOption = [
  '--seal <key-file>',
  'also seal conversations once they are idle: palimpsest audit --help',
] as const
export const sealAnchorOption = ['--anchor <places...>', 'with --seal: where checkpoints are kept'] as const

/** Task that seals or audits the store while another command runs. */
export interface BackgroundTask {
  /** Runs until the signal aborts; rejects with errors that a retry would not fix. */
  readonly run: (signal: AbortSignal) => Promise<void>
  /** Returns why the task does nothing at present, if so. */
  readonly problem?: () => string | undefined
  readonly close: () => Promise<void>
}

/** Wait before a sealer that must not sign tries again, in milliseconds. */
const wait = 60_000

/** Errors that a retry does not fix. The sealer retries all others. */
const lasting = ['LedgerNotFound', 'LedgerDamaged', 'KeyMismatch'] as const

/** Throws `KeyMismatch` if the signer does not sign the ledger, `LedgerNotFound` or `LedgerDamaged`. */
const checkKey = async ({ audit }: Store, signer: Signer): Promise<void> => {
  const { keyText, verifierKey } = await import('../../audit/ledger/keys.ts')
  try {
    const { origin, key } = await audit.status()
    // Sealing fails, and says whether the key was replaced.
    if (keyText(verifierKey(origin, signer.publicKey)) !== key) await audit.seal({ signer })
  } catch (error) {
    if (lasting.some((tag) => isError(error, tag))) throw error
  }
}

/**
 * Returns a background task that seals conversations, or undefined if no key is given. The task logs each retried failure as one line
 * of JSON.
 */
export const createSealTask = async (
  store: Store,
  { seal, anchor }: SealingOptions,
  log: { readonly write: (text: string) => unknown } | undefined,
): Promise<BackgroundTask | undefined> => {
  if (seal === undefined) return undefined
  const { keyFile } = await import('../../audit.ts')
  const signer = await keyFile(seal)
  await checkKey(store, signer)
  const { anchors, close } = await openAnchors(anchor)
  const report = (error: object): void => void log?.write(`${JSON.stringify({ audit: 'failed', error })}\n`)
  let problem: string | undefined
  const follow = (signal: AbortSignal): Promise<void> =>
    store.audit.follow({
      signer,
      anchors,
      signal,
      onEvent: (event) => {
        if (event.type === 'refused') report(event)
        else if ('error' in event && event.error) {
          report(event.error)
          // Before anything is sealed, the anchors are checked: one has lost checkpoints, or cannot be read.
          if (event.type === 'failed' && isError(event.error, 'AnchorFailed')) problem = event.error.message
        } else problem = undefined
      },
    })
  return {
    run: async (signal) => {
      while (!signal.aborted)
        try {
          return await follow(signal)
        } catch (error) {
          if (!isError(error, 'AnchorAhead')) throw error
          // An older copy of the store was restored. The other tasks of this process continue; nothing is sealed.
          const { stack: _stack, ...data } = failureOf(error)
          if (problem !== error.message) report(data)
          problem = error.message
          await pause(wait, signal)
        }
    },
    problem: () => problem && `nothing is sealed: ${problem}`,
    close,
  }
}
