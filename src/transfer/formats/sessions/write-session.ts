import { randomBytes } from 'node:crypto'
import type { Effective } from '../../../projections/effective.ts'
import { withStubs } from '../../disclosure/withheld.ts'
import type { ExportOptions, FormatExporter } from '../exporter.ts'
import type { ReadableConversation } from '../readable-conversation.ts'
import type { SessionFormatName } from '../plan.ts'
import type { OriginalFile } from '../../../conversation/reading/original.ts'
import { clients, type SessionClient } from './clients.ts'
import { sessionViewOf } from './session-view.ts'
import type { FindLines, WrittenSession } from './session-writer.ts'

/** Settings of a session for another program. */
export interface SessionExportOptions extends Pick<ExportOptions, 'at' | 'redact' | 'withheld'> {
  /** Absolute path of the folder in which the program will run. Default: the root folder. */
  readonly cwd?: string | undefined
  /** Finds the lines of the original file to copy. Default: none, so that the session is rendered. */
  readonly findLines?: FindLines | undefined
}

/** A written session, and the number of messages in it. */
export interface SessionExport extends WrittenSession {
  readonly messages: number
}

/**
 * Writes a moment of a conversation as a new session of another program. The effective history and its rendering are in memory; the
 * lines are made as they are read, once. Throws a `ReadError`.
 */
export const writeSession = async (
  chat: Pick<ReadableConversation, 'events' | 'context' | 'original'>,
  client: SessionClient,
  { at, withheld = new Map(), ...options }: SessionExportOptions,
): Promise<SessionExport> => {
  const original = async () => chat.original().catch(() => undefined)
  const effective = await withStubs(chat, withheld).context({ at })
  return sessionFrom(effective, client, { ...options, withheld, original })
}

interface SessionSource extends Omit<SessionExportOptions, 'at'> {
  /** Returns the file from which the conversation was imported; undefined if the store does not have it. */
  readonly original: () => Promise<OriginalFile | undefined>
}

/** Writes an effective history as `writeSession` does. */
export const sessionFrom = async (
  effective: Effective,
  client: SessionClient,
  { cwd = '/', redact, withheld = new Map(), original, findLines }: SessionSource,
): Promise<SessionExport> => {
  const { write, copy, ownBlock } = await client.load()
  const view = await sessionViewOf(effective, { redact, withheld, ownBlock })
  const messages = view.messages.length
  const target = { id: newSessionId(), cwd, time: new Date().toISOString() }
  const file = copy && findLines && !redact && withheld.size === 0 ? await original() : undefined
  const lines = copy && file?.format === client.name ? await findLines?.(file, effective, copy) : undefined
  const written = { ...write(view, target), messages }
  if (!copy || !lines) return written
  const lost = written.lost.filter(({ kind }) => kind === 'output-cut' || kind === 'tool-renamed')
  const copied = lines.map((line, index) => `${copy.lineOf(line, index, target)}\n`)
  return { ...written, way: 'verbatim', lines: copied, lost }
}

/** Returns a UUID of version 7, which Codex and pi give their sessions, too. */
const newSessionId = (): string => {
  const time = Date.now().toString(16).padStart(12, '0')
  const random = randomBytes(10)
  random[0] = ((random[0] ?? 0) & 0x0f) | 0x70
  random[2] = ((random[2] ?? 0) & 0x3f) | 0x80
  return (time + random.toString('hex')).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

/** Returns an exporter that writes a session for this client. */
export const sessionExporter = (name: SessionFormatName): FormatExporter => {
  const client = clients[name]
  return {
    extension: client.extension,
    kind: client.extension === 'json' ? 'json' : 'lines',
    isOfLog: false,
    pieces: async function* (chat, options) {
      yield* (await writeSession(chat, client, options)).lines
    },
  }
}
