import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { unsealedEvents } from '../transfer/disclosure/unsealed.ts'
import { fileNameOf } from '../transfer/formats/file-name.ts'
import { type Conversation, type Evidence, isError, type LedgerProof, type Store } from '../index.ts'
import { bytesOf, withEnd } from './bounded.ts'
import type { Flow } from './route.ts'
import { zipFolder } from './zip.ts'

/**
 * Maximum size of the events in a bundle, in bytes. Larger conversations must be exported on the command line: a bundle is first
 * written to a temporary folder, and may be three times as large as its events.
 */
const largest = 32 * 1024 * 1024

export interface EvidenceRequest {
  readonly calls?: { readonly first: number; readonly last: number } | undefined
  readonly withhold: readonly number[]
  readonly reason?: string | undefined
  /** True to export even if the content contains what looks like secrets. */
  readonly force: boolean
}

/** Returns the command that makes the same export on the command line. */
export const exportCommand = (
  id: string,
  { calls, withhold }: Pick<EvidenceRequest, 'calls' | 'withhold'>,
): string =>
  [
    `audit export ${id} --out FOLDER`,
    ...(calls ? [`--calls ${calls.first}..${calls.last}`] : []),
    ...(withhold.length > 0 ? ['--withhold POSITIONS'] : []),
  ].join(' ')

/**
 * Makes the bundle that `palimpsest audit export` writes, as a ZIP archive.
 *
 * @param by name of the caller, recorded with the export
 */
export const evidenceOf = async (
  store: Pick<Store, 'audit'>,
  chat: Conversation,
  { reason, force, ...wanted }: EvidenceRequest,
  by: string,
): Promise<Flow> => {
  await refuseLarge(chat, exportCommand(chat.id, wanted))
  const ledger = await proofOf(store, chat.id)
  const folder = await mkdtemp(join(tmpdir(), 'palimpsest-evidence-'))
  const end = (): Promise<void> => rm(folder, { recursive: true, force: true })
  try {
    const bundle = join(folder, 'bundle')
    const onReady = (): Promise<void> =>
      store.audit.recordExport({
        conversations: [chat.id],
        format: 'bundle',
        by,
        reason,
        withheld: wanted.withhold,
        calls: wanted.calls,
      })
    const evidence = await chat.evidence({
      ...wanted,
      folder: bundle,
      ledger,
      onReady,
      ...(force && { force }),
    })
    const name = fileNameOf(`${chat.id}-evidence`, 'zip')
    return {
      headers: {
        'content-disposition': `attachment; filename="${name}"`,
        'palimpsest-evidence': JSON.stringify(told(evidence, ledger)),
      },
      type: 'application/zip',
      flow: withEnd(zipFolder(bundle, `${name.replace(/\.zip$/, '')}/`), end),
    }
  } catch (error) {
    await end()
    throw error
  }
}

const refuseLarge = async (chat: Conversation, command: string): Promise<void> => {
  const add = bytesOf(chat.id, command, largest)
  for await (const { data, metadata } of chat.stored({ to: await chat.position() })) add(data, metadata)
  for await (const { data, metadata } of chat.stored({ turns: true })) add(data, metadata)
}

/** Returns the ledger's proof of a conversation, or undefined if no event of the conversation is sealed. */
const proofOf = async ({ audit }: Pick<Store, 'audit'>, id: string): Promise<LedgerProof | undefined> => {
  try {
    return await audit.proof(id, { compare: true })
  } catch (error) {
    if (isError(error, 'NotSealed') || isError(error, 'LedgerNotFound')) return undefined
    throw error
  }
}

/** Maximum number of positions in a list of the response header, to keep the header short. */
const most = 50

const told = (
  { conversation, events, requests, omitted, withheld, tainted, repeated }: Evidence,
  ledger: LedgerProof | undefined,
) => ({
  events,
  requests,
  isSealed: ledger !== undefined,
  unsealed: unsealedEvents({ conversation, events }, ledger),
  omitted: omitted.length,
  withheld: withheld.length,
  tainted: tainted.slice(0, most).map(({ position }) => position),
  repeated: repeated.slice(0, most).map(({ position }) => position),
})
