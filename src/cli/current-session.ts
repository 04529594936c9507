import { createReadStream } from 'node:fs'
import type { Store } from '../index.ts'
import { toError } from '../result/typed-error.ts'
import type { Host } from './host.ts'
import { type MachineSession, machineSessions, noSessionFound, readHead } from './machine-sessions.ts'

/** Maximum number of sessions whose beginning is read to find the one of this folder. */
const mostRead = 100

/** Imports what is new in the current session, and returns the id of its conversation. */
export const importCurrent = async (store: Store, { env }: Host): Promise<string> => {
  const sessions = (await machineSessions(env)).filter(({ size }) => size > 0)
  const id = env['CLAUDE_CODE_SESSION_ID']
  const isOwn = ({ file }: MachineSession): boolean => id !== undefined && file.endsWith(`/${id}.jsonl`)
  const here = process.cwd()
  const found =
    sessions.find(isOwn) ?? sessions.slice(0, mostRead).find((session) => readHead(session).project === here)
  if (!found) throw toError(noSessionFound(undefined))
  const { file, format } = found
  const bytes = () => createReadStream(file, { highWaterMark: 256 * 1024 })
  const { conversations } = await store.importSession({ file, bytes, format, skipBadLines: true })
  const [first] = conversations
  if (!first) throw toError(noSessionFound(format))
  return first.id
}
