import { existsSync, statSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import * as E from 'fp-ts/lib/Either.js'
import { checkWorkerOptions } from '../../agent/workers/create-worker.ts'
import { isFields } from '../../events/json.ts'
import { timer } from '../../result/timers.ts'
import type { Conversation, WorkerOptions } from '../../index.ts'
import { toError } from '../../result/typed-error.ts'
import type { CliError } from '../errors.ts'
import { loadModule, noSuchFile } from '../plug-ins.ts'

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

const wanted = 'export default a function that returns the options of a turn, or an object with that as turn'

/**
 * Reports whether a module surely has no default export. Such a module is a program, which loading would run: it might write to the very
 * conversation that a command only looks at.
 */
const lacksDefault = async (file: string): Promise<boolean> => {
  const text = await readFile(file, 'utf8').catch(() => undefined)
  return text !== undefined && !/\bdefault\b|\bexports\b/.test(text)
}

/** Throws `AgentFailed` if there is no such file, so that a mistyped path is refused before anything is said about the store. */
export const checkAgentFile = (file: string): void => {
  if (!existsSync(file)) throw toError(agentFailed(file, noSuchFile))
}

/** Returns the text by which two states of a file differ; undefined if there is no such file. */
const stampOf = (file: string): string | undefined => {
  const found = statSync(file, { throwIfNoEntry: false })
  return found && `${found.mtimeMs} ${found.size}`
}

/** Returns a function that reports whether the file of an agent has changed since its last call, at first since now. */
export const createChangeCheck = (file: string): (() => boolean) => {
  let known = stampOf(file)
  return () => {
    const stamp = stampOf(file)
    // An editor may replace the file in two steps.
    if (stamp === undefined || stamp === known) return false
    known = stamp
    return true
  }
}

/** Returns the note about an agent that has changed: a process keeps the module that it has loaded. */
export const changedText = (file: string): string =>
  `${file} changed since it was loaded: restart this command to use it\n`

let isLoaded = false

/** Reports whether an agent was loaded in this process: it may have left something open that keeps the process alive. */
export const hasLoadedAgent = (): boolean => isLoaded

/** Milliseconds after which a module that is still loading is worth a note. */
const noted = 10_000

/** Loads the agent that a module exports by default. Notes on standard error if that takes long. Throws `AgentFailed`. */
export const loadAgent = async (
  file: string,
  stderr: { readonly write: (text: string) => unknown } = process.stderr,
  after = noted,
): Promise<Agent> => {
  isLoaded = true
  if (await lacksDefault(file)) throw toError(agentFailed(file, `it has no default export: ${wanted}`))
  const note = timer(after, () => stderr.write(`the agent ${file} is still loading: check what it awaits\n`))
  const loaded = await loadModule(file, agentFailed).finally(() => clearTimeout(note))
  const exported = isFields(loaded) ? loaded['default'] : undefined
  if (isTurn(exported)) return { turn: exported }
  if (isAgent(exported)) {
    // Before a store is created for it.
    const checked = checkWorkerOptions(exported)
    if (E.isLeft(checked)) throw toError(agentFailed(file, checked.left.message))
    return exported
  }
  const found = exported === undefined ? 'it has no default export' : 'its default export is not an agent'
  throw toError(agentFailed(file, `${found}: ${wanted}`))
}
