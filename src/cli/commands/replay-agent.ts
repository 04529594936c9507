import type { AgentReplayReport } from '../../investigate/index.ts'
import { isTyped, toError } from '../../result/typed-error.ts'
import { failureOf, usage } from '../errors.ts'
import type { Output } from '../output.ts'
import type { CommandSession } from '../shell.ts'
import { plural } from '../text.ts'
import { loadAgent } from '../work/agent.ts'

/**
 * Compares an agent with the log of a conversation and prints the first difference. Sets exit code 1 if they differ, 2 if they cannot
 * be compared.
 */
export const printReplayedAgent = async (
  { store, out, isJson, fail }: CommandSession,
  id: string,
  file: string,
  from: number | undefined,
): Promise<void> => {
  const found = await asMisuse(file, async () => {
    const { turn } = await loadAgent(file)
    const { replayAgent } = await import('../../investigate/index.ts')
    const replayed = await replayAgent(store.conversation(id), { agent: turn, from })
    const isNothing = replayed.replies === 0 && replayed.erased === 0
    if (!replayed.divergence && isNothing) throw toError(nothingToReplay(replayed, from))
    return replayed
  })
  if (found.divergence || (!found.isSame && found.erased === 0)) fail()
  return isJson ? out.json(found) : write(out, found)
}

/**
 * Awaits the work, and rejects if Node is about to exit while the work is still pending. Otherwise, Node would exit silently when the
 * event loop is empty.
 */
const settled = async <A>(work: Promise<A>): Promise<A> => {
  const { promise: never, reject } = Promise.withResolvers<never>()
  const stop = (): void => reject(new Error('it awaits a promise that never settles'))
  process.once('beforeExit', stop)
  try {
    return await Promise.race([work, never])
  } finally {
    process.off('beforeExit', stop)
  }
}

/**
 * Runs the work, with exit code 2 on any error, so that a build can tell "cannot be compared" from "differs". An error without a tag
 * comes from the agent.
 */
const asMisuse = async <A>(file: string, work: () => Promise<A>): Promise<A> => {
  try {
    return await settled(work())
  } catch (error) {
    const failure = isTyped(error)
      ? failureOf(error)
      : {
          _tag: 'AgentFailed',
          message: `the agent ${file} failed: ${error instanceof Error ? error.message : String(error)}`,
          file,
        }
    throw toError({ ...failure, exitCode: 2 })
  }
}

const nothingToReplay = ({ conversation, unproven }: AgentReplayReport, from: number | undefined) =>
  usage(
    unproven > 0
      ? `nothing to replay: the replies of ${conversation} have no receipts, as another program recorded them`
      : `nothing to replay: ${conversation} has no call ${from === undefined ? 'of a model' : `from ${from} on`}`,
  )

const write = async (out: Output, found: AgentReplayReport): Promise<void> => {
  const { divergence, replies, markers, results, unknown, unproven, erased } = found
  if (divergence) {
    const { event, call, kind, path, agent, log } = divergence
    const where = `differs at ${event}${call === undefined ? '' : `, call ${call}`}: ${kind}${path === undefined ? '' : ` ${path}`}`
    await out.line([where, 'warning'])
    await out.line([`  agent  ${agent}`])
    await out.line([`  log    ${log}`])
    return
  }
  const seen = [
    plural(replies, 'reply', 'replies'),
    plural(markers, 'summary or truncation', 'summaries and truncations'),
    plural(results, 'tool call'),
  ]
  await out.line([`same: ${seen.join(', ')}`])
  if (erased > 0) await out.line([`not checkable: ${erased}, because content was erased`, 'warning'])
  if (unproven > 0)
    await out.line([`not compared: ${plural(unproven, 'reply', 'replies')} without a receipt`, 'warning'])
  if (unknown > 0)
    await out.line([
      `unknown whether ${plural(unknown, 'tool call')} waited for a person: another store recorded that`,
      'warning',
    ])
}
