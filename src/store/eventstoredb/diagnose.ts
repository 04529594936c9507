import * as E from 'fp-ts/lib/Either.js'
import { unwrap, run, type Fallible, task } from '../../result/fallible.ts'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import type { InvalidInput } from '../../events/errors.ts'
import {
  archiveStreamOf,
  conversationOf,
  inboxStreamOf,
  notesStreamOf,
  streamOf,
  turnsStreamOf,
} from '../../events/ids.ts'
import { type DiagnosisFinding, findingOf } from '../diagnosis.ts'
import type { StoreError } from '../errors.ts'
import { configurationsFinding } from './configurations.ts'
import { type Connection, connect } from './connection.ts'
import { reasonOf } from './failures.ts'
import { trapIn } from './losses.ts'
import { addressesIn, probe } from './probe.ts'
import { type Reads, reads } from './reads.ts'
import { scratchFindings, within } from './scratch.ts'
import { esdbSettings, type ConnectionSettings } from './settings.ts'

/** Maximum number of changes to stream settings to examine. */
const mostSettings = 1_000

/**
 * Examines an EventStoreDB. Writes only about a megabyte, to a stream `palimpsest-doctor-…`, which the database drops after a minute.
 * The time limit for each answer is the URL's time for one attempt (`defaultDeadline`), and for a cluster node `gossipTimeout`.
 */
export const diagnoseEventStoreDb = (url: string): TaskEither<InvalidInput, readonly DiagnosisFinding[]> =>
  task(async function* (): Fallible<InvalidInput, readonly DiagnosisFinding[]> {
    const settings = yield* unwrap(esdbSettings(url))
    const reached = await connectionFindings(settings)
    if (reached.every(({ status }) => status !== 'ok')) return reached
    const connection = yield* unwrap(connect({ ...settings, patience: settings.attempt }))
    try {
      return [...reached, ...(await serverFindings(connection))]
    } finally {
      await connection.close()
    }
  })

/** Checks the connection to each node. A node that is down is a problem only if no other node answers. */
const connectionFindings = async (settings: ConnectionSettings): Promise<readonly DiagnosisFinding[]> => {
  const nodes = await Promise.all(
    addressesIn(settings.connectionString).map(async (address) => ({
      name: `${address.host}:${address.port}`,
      problem: await probe(address, settings.nodePatience ?? settings.attempt),
    })),
  )
  const failed = nodes.some(({ problem }) => problem === undefined) ? 'warning' : 'problem'
  return nodes.map(({ name, problem }) =>
    problem === undefined
      ? findingOf('connection', 'ok', `${name} answers`)
      : findingOf('connection', failed, `${name}: ${problem}`),
  )
}

const serverFindings = async (connection: Connection): Promise<readonly DiagnosisFinding[]> => {
  const reading = reads(connection)
  const stream = streamOf('palimpsest-doctor')
  const read = await run(reading.whatIsThere({ stream, from: 0, direction: 'forwards', limit: 1 }))
  if (E.isLeft(read))
    return [
      findingOf(read.left._tag === 'StoreDenied' ? 'credentials' : 'answers', 'problem', read.left.message),
    ]
  const { credentials } = connection.settings
  const who = credentials ? ` to ${credentials.username}` : ''
  const server = await versionFinding(connection)
  const found = [findingOf('credentials', 'ok', `reading is allowed${who}`), server]
  if (server.status === 'problem') return found
  try {
    return [
      ...found,
      ...(await scratchFindings(connection, reading)),
      await settingsFinding(reading),
      await configurationsFinding(reading),
    ]
  } catch (error) {
    return [...found, findingOf('appends', 'problem', `the server refuses appends: ${reasonOf(error)}`)]
  }
}

/**
 * Checks the server's version and features. They are read from the client library's internals, because the library has no public method
 * for them.
 */
const versionFinding = async ({ features, settings }: Connection): Promise<DiagnosisFinding> => {
  try {
    const { serverVersion, supports } = await within(settings.attempt, features())
    return supports({ path: '/event_store.client.streams.streams/batchappend' })
      ? findingOf('server', 'ok', `EventStoreDB ${serverVersion}, with batch append`)
      : findingOf(
          'server',
          'problem',
          `EventStoreDB ${serverVersion} has no batch append: upgrade it to 21.10 or newer`,
        )
  } catch (error) {
    return findingOf('server', 'problem', `the server does not report its features: ${reasonOf(error)}`)
  }
}

/** Looks for stream settings that make the database drop events of conversations. */
const settingsFinding = async (reading: Reads): Promise<DiagnosisFinding> => {
  const found = await run(limitsFinding(reading))
  if (E.isRight(found)) return found.right
  const { _tag, message } = found.left
  return findingOf(
    'history',
    _tag === 'StoreDenied' ? 'problem' : 'warning',
    `$all, from which the list of conversations is also read, cannot be searched: ${message}`,
  )
}

/** Kinds of streams that accompany a conversation: the prefix of their names, and a description for users. */
const beside = [
  [notesStreamOf(''), 'the notes of'],
  [turnsStreamOf(''), 'the turns of'],
  [inboxStreamOf(''), 'the inbox of'],
  [archiveStreamOf(''), 'the original file of'],
] as const

/** Describes a stream for users; returns undefined if the stream neither contains nor accompanies a conversation. */
const nameOf = (stream: string): string | undefined => {
  const [prefix, what] = beside.find(([begin]) => stream.startsWith(begin)) ?? []
  return prefix === undefined ? conversationOf(stream) : `${what} ${stream.slice(prefix.length)}`
}

async function* limitsFinding(reading: Reads): Fallible<StoreError, DiagnosisFinding> {
  const check = 'history'
  const prefixes = [streamOf(''), ...beside.map(([prefix]) => prefix)].map((prefix) => `$$${prefix}`)
  const onSettings = { on: 'stream', prefixes } as const
  const changes = yield* reading.all(onSettings, undefined, mostSettings)
  const tombstones = yield* reading.all({ on: 'type', prefixes: ['$streamDeleted'] }, undefined, mostSettings)
  const traps = new Map<string, string>()
  for (const change of changes) {
    const id = nameOf(change.stream.slice('$$'.length)) ?? ''
    const trap = trapIn(change)
    if (trap === undefined) traps.delete(id)
    else traps.set(id, trap)
  }
  for (const { stream } of tombstones) {
    const id = nameOf(stream)
    if (id !== undefined) traps.set(id, 'permanently deleted')
  }
  const looked = Math.max(changes.length, tombstones.length)
  const bound =
    looked === mostSettings ? ` (only the first ${mostSettings} stream settings were checked)` : ''
  if (traps.size === 0) return findingOf(check, 'ok', `no conversation is limited or deleted${bound}`)
  const named = [...traps].slice(0, 5).map(([id, trap]) => `${id} (${trap})`)
  const others = traps.size > named.length ? ` and ${traps.size - named.length} more` : ''
  return findingOf(
    check,
    'problem',
    `the database drops events of ${named.join(', ')}${others}${bound}: remove $maxCount, $maxAge and $tb from their metadata, and restore the lost events from a backup`,
  )
}
