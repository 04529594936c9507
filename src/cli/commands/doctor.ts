import type { Command } from 'commander'
import { toPromise } from '../../api/promises.ts'
import type { DiagnosisFinding } from '../../store/diagnosis.ts'
import { openEvents } from '../../api/open.ts'
import { diagnose } from '../../api/schemes.ts'
import { sealStream } from '../../store/seal/store-secret.ts'
import type { Output } from '../output.ts'
import { isError, openStore } from '../../index.ts'
import { failureOf } from '../errors.ts'
import { openAnchors, recordedFiles } from '../audit/anchors.ts'
import { asUsage, type GlobalOptions, type Shell } from '../shell.ts'
import type { Paint } from '../text.ts'
import { messageIndent, writeMessage } from '../views/write-finding.ts'
import { writeTable } from '../views/table.ts'

export const addDoctor = (program: Command, { surroundings }: Shell): void => {
  program
    .command('doctor')
    .description('check the store and say what to fix')
    .addHelpText(
      'after',
      `
Exit code 1 if there is a problem. Checks
- for a sealed store: whether its keys are given
- for a ledger: whether a checkpoint was ever kept elsewhere, and, with recorded
  anchors that are files here, whether sealing is blocked
- for an index beside an SQLite file: whether it can be written, and its pages
- for SQLite: file, permissions, schema, integrity, columns (a sample),
  durability, free space, recorded secrets, imports that were interrupted, the
  time a durable append takes
- for EventStoreDB: connection, credentials, version, append limit, clock, round
  trips, settings that drop events, secrets in the first 1,000 configurations.
  This writes a megabyte to a stream palimpsest-doctor-…, which the database
  drops after a minute.
- for PostgreSQL: connection, version, pooler, durability, replication lag,
  permissions, whether events are missing, dead rows, recorded secrets, the time
  of durable writes

Examples:
  palimpsest doctor
  palimpsest doctor --store 'esdb://127.0.0.1:2113?tls=false'`,
    )
    .action(async () => {
      const { out, isJson, fail } = surroundings()
      const { store } = program.opts<GlobalOptions>()
      const found = await toPromise(diagnose(store)).catch((error: unknown) => {
        throw asUsage(error)
      })
      const findings = [
        ...found,
        ...(await keyFindings(store, found)),
        ...(await ledgerFindings(store, found)),
        ...(await indexFindings(store)),
      ]
      const isWell = findings.every(({ status }) => status !== 'problem')
      if (!isWell) fail()
      if (isJson) return out.json({ ok: isWell, findings })
      if (out.isTerminal) for (const finding of findings) await writeFinding(out, finding)
      else
        await writeTable(
          out,
          [],
          findings.map(({ status, check, message }) => [status, check, message]),
        )
    })
}

/** Returns a finding if the store is sealed and no keys are given; no findings if there is a problem that prevents reading it. */
const keyFindings = async (
  url: string,
  found: readonly DiagnosisFinding[],
): Promise<readonly DiagnosisFinding[]> => {
  if (url === 'memory:' || found.some(({ check, status }) => status === 'problem' || check === 'keys'))
    return []
  const store = await toPromise(openEvents(url, false))
  try {
    const range = { stream: sealStream, from: 0, direction: 'forwards', limit: 1 } as const
    const sealed = await toPromise(store.read(range))
    return sealed.length === 0 ? [] : [{ check: 'keys', status: 'problem', message: noKeys }]
  } finally {
    await store.close()()
  }
}

const noKeys =
  'the content of the store is sealed, and no keys are given: name them in the URL, like sqlite:palimpsest.db?seal=keys.db'

/** Returns a finding about the store's ledger, or no findings if the store cannot be used or has no ledger. */
const ledgerFindings = async (
  url: string,
  found: readonly DiagnosisFinding[],
): Promise<readonly DiagnosisFinding[]> => {
  if (url === 'memory:' || found.some(({ status }) => status === 'problem')) return []
  const store = await openStore(url, { create: false })
  try {
    const { anchors, close } = await openAnchors(await recordedFiles(store))
    const { blocked, exposedSince, origin, size } = await store.audit.status({ anchors }).finally(close)
    if (blocked !== undefined)
      return [{ check: 'ledger', status: 'problem', message: `sealing is blocked: ${blocked}` }]
    const isExposed = exposedSince === 'beginning'
    const message = !isExposed
      ? size === 0
        ? `the ledger ${origin} has no entries yet, because there are no events`
        : `the ledger ${origin} has checkpoints elsewhere; palimpsest audit verify checks everything`
      : `no checkpoint of the ledger ${origin} was ever kept elsewhere: seal with --anchor, or anyone with the key can rewrite everything unnoticed`
    return [{ check: 'ledger', status: isExposed ? 'warning' : 'ok', message }]
  } catch (error) {
    if (isError(error, 'LedgerNotFound')) return []
    return [{ check: 'ledger', status: 'problem', message: failureOf(error).message }]
  } finally {
    await store.close()
  }
}

/** Returns a finding about the store's index file, or no findings if there is no such file. */
const indexFindings = async (url: string): Promise<readonly DiagnosisFinding[]> => {
  const [{ placeOf }, { lookAtFile, unwritableAt, unwritableText }] = await Promise.all([
    import('../../catalogue/place.ts'),
    import('../../catalogue/file.ts'),
  ])
  const place = placeOf(url.replace(/\?.*$/, ''), undefined)
  const unwritable = place === undefined ? [] : unwritableAt(place)
  if (unwritable.length > 0)
    return [{ check: 'index', status: 'warning', message: unwritableText(unwritable) }]
  const file = place === undefined ? undefined : lookAtFile(place)
  if (!file) return []
  const message = file.isWhole
    ? `every page of ${file.name} is intact`
    : `${file.name} is damaged: the next search or list replaces it`
  return [{ check: 'index', status: file.isWhole ? 'ok' : 'warning', message }]
}

const paints: Readonly<Record<DiagnosisFinding['status'], Paint>> = {
  ok: 'user',
  warning: 'position',
  problem: 'warning',
}

const writeFinding = async (out: Output, { status, check, message }: DiagnosisFinding): Promise<void> => {
  await out.line([status.padEnd(messageIndent), paints[status]], [check, 'bold'])
  await writeMessage(out, message)
}
