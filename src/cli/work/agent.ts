import { isFields } from '../../events/json.ts'
import type { Conversation, WorkerOptions } from '../../index.ts'
import { toError } from '../../result/typed-error.ts'
import type { CliError } from '../errors.ts'
import { loadModule } from '../plug-ins.ts'

/** Worker options, the default export of a module for `palimpsest work`. */
export type Agent = WorkerOptions<Conversation>

const agentFailed = (file: string, why: string, place?: string): CliError => ({
  _tag: 'AgentFailed',
  message: `the agent ${file} cannot be loaded: ${why}`,
  file,
  ...(place !== undefined && { place }),
})

const isTurn = (value: unknown): value is Agent['turn'] => typeof value === 'function'
const isAgent = (value: unknown): value is Agent => isFields(value) && isTurn(value['turn'])

/** Loads the agent that a module exports by default. Throws `AgentFailed`. */
export const loadAgent = async (file: string): Promise<Agent> => {
  const loaded = await loadModule(file, agentFailed)
  const exported = isFields(loaded) ? loaded['default'] : undefined
  if (isTurn(exported)) return { turn: exported }
  if (isAgent(exported)) return exported
  const found = exported === undefined ? 'it has no default export' : 'its default export is not an agent'
  const wanted =
    'export default a function that returns the options of a turn, or an object with that as turn'
  throw toError(agentFailed(file, `${found}: ${wanted}`))
}
