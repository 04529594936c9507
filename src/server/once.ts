import type { HeaderFields } from './request-input.ts'
import { type CommandBook, commandIdOf, type IdentifiedCommand } from './preconditions.ts'
import type { RouteResponse, Route } from './route.ts'

interface Called {
  readonly params: unknown
  readonly query: unknown
  readonly body: unknown
  readonly headers: HeaderFields
}

/** Returns the command of a request if it has a command id and is not a dry run, otherwise undefined. */
const commandIn = (
  { repeats, name }: Route,
  { params, query, body, headers }: Called,
): IdentifiedCommand | undefined => {
  if (!repeats) return undefined
  const { id, worker } = params as { readonly id?: string; readonly worker?: string }
  const { dryRun } = query as { readonly dryRun?: boolean }
  const command = body as { readonly commandId?: string }
  const commandId = commandIdOf(command.commandId, headers)
  if (commandId === undefined || dryRun) return undefined
  const place = id ?? `worker ${worker}`
  return { place, commandId, command: { ...command, name, params }, isKept: repeats === 'kept' }
}

/** Handles a request. A command that is repeated under the same id is carried out only once. */
export const onceDone = async (
  book: CommandBook,
  route: Route,
  call: Called,
  work: () => Promise<RouteResponse>,
): Promise<RouteResponse> => {
  const named = commandIn(route, call)
  if (!named) return work()
  const { answer, isRepeat } = await book.once(named, work)
  if (!isRepeat || !('body' in answer)) return answer
  return { ...answer, headers: { ...answer.headers, 'idempotency-replayed': 'true' } }
}
