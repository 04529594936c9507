import type { Store } from '../../index.ts'
import { openAnchors } from './anchors.ts'

/** Who seals while something else is done, and where checkpoints go. */
export interface SealingOptions {
  /** The file of the key. */
  readonly seal?: string | undefined
  readonly anchor?: readonly string[] | undefined
}

/** The options of commands that can also seal. */
export const sealOption = [
  '--seal <key-file>',
  'also seal what comes to rest: palimpsest audit --help',
] as const
export const sealAnchorOption = ['--anchor <places...>', 'with --seal: where checkpoints are kept'] as const

/** Seals or patrols beside other work. */
export interface BackgroundTask {
  /** Until the signal aborts; rejects with what another attempt would not change. */
  readonly run: (signal: AbortSignal) => Promise<void>
  readonly close: () => Promise<void>
}

/** Ready to seal, if a key was named. What fails and is tried again goes to the log, a line of JSON each. */
export const sealingBeside = async (
  store: Store,
  { seal, anchor }: SealingOptions,
  log: { readonly write: (text: string) => unknown } | undefined,
): Promise<BackgroundTask | undefined> => {
  if (seal === undefined) return undefined
  const { keyFile } = await import('../../audit.ts')
  const signer = await keyFile(seal)
  const { anchors, close } = await openAnchors(anchor)
  const told = (error: object): void => void log?.write(`${JSON.stringify({ audit: 'failed', error })}\n`)
  return {
    run: (signal) =>
      store.audit.follow({
        signer,
        anchors,
        signal,
        onEvent: (event) => {
          if (event.type === 'refused') told(event)
          else if ('error' in event && event.error) told(event.error)
        },
      }),
    close,
  }
}
