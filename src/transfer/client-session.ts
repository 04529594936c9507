import * as E from 'fp-ts/lib/Either.js'
import type { ConversationHandle } from '../conversation/conversation.ts'
import type { ConversationReader } from '../conversation/reading/conversation-reader.ts'
import { type InvalidInput, invalidInput } from '../events/errors.ts'
import { type Fallible, run, unwrap } from '../result/fallible.ts'
import type { ReadError } from '../store/errors.ts'
import { checkOptions, kinds } from '../store/options.ts'
import { isSessionFormat, sessionFormats, type SessionFormatName } from './formats/plan.ts'
import { clients } from './formats/sessions/clients.ts'
import { linesUntil } from './original-lines.ts'
import { type SessionExport, sessionFrom } from './formats/sessions/write-session.ts'

export interface ClientSessionOptions {
  readonly format: SessionFormatName
  /** Position at which to continue; it must exist. Default: the last one. */
  readonly at?: number | undefined
  /** Absolute path of the folder in which the client will run. Default: the working directory. */
  readonly cwd?: string | undefined
}

const fields = { format: kinds.text, at: kinds.position, cwd: kinds.text }

/** Writes a moment of a conversation as a new session of a client. */
export async function* clientSession(
  chat: Pick<ConversationReader, 'context'> & Pick<ConversationHandle, 'original'>,
  options: ClientSessionOptions,
): Fallible<ReadError | InvalidInput, SessionExport> {
  const { format = '', at, cwd = process.cwd() } = yield* unwrap(checkOptions(options, fields))
  if (!isSessionFormat(format))
    return yield invalidInput('format', `must be one of ${sessionFormats.join(', ')}`)
  const original = async () => E.getOrElseW(() => undefined)(await run(chat.original()))
  return await sessionFrom(yield* unwrap(chat.context({ at })), clients[format], {
    cwd,
    original,
    findLines: linesUntil,
  })
}
