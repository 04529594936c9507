import { useEffect, useState } from 'preact/hooks'
import { apiPathOf } from '../../server/client/api-path.ts'
import type { ActPreview } from '../source/answers.ts'
import type { SourceProblem, ApiSource } from '../source/source.ts'
import { problemOf } from '../source/source.ts'
import { commandOf, type ActDraft, lackOf } from './acts.ts'
import type { WorkStatus } from './preview.ts'
import { apiOf } from '../url.ts'

/** Conversation that a command is sent to. */
export interface ActTarget {
  readonly source: ApiSource
  readonly id: string
  /** Last position that the user has seen: the server rejects the command if later events exist. */
  readonly last: number
}

/** Generates a random command id. The server carries out a command only once, even if it is sent twice with the same id. */
const commandId = (): string =>
  [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('')

/**
 * Sends a command to the server. Rejects with a `SourceProblem`.
 *
 * @param after the last position that the user had seen when deciding on the command
 */
export const carryOut = ({ source, id }: ActTarget, draft: ActDraft, after: number): Promise<unknown> => {
  const body = { ...commandOf(draft), commandId: commandId(), ...(draft.act === 'fork' ? {} : { after }) }
  return source.post(apiOf(id, '/commands'), body)
}

export interface DryRunState {
  readonly preview: ActPreview | undefined
  /** Reason why the server would reject the command; undefined if it would accept it. */
  readonly problem: SourceProblem | undefined
  readonly isBusy: boolean
}

/** Delay between the last change of a draft and its dry run, in milliseconds. */
const rest = 200

/**
 * Returns the result of a draft's dry run, which is requested 200 ms after the last change. The previous result is kept until the next
 * one arrives. For a fork, the result says only whether the server would reject it.
 *
 * @param isSending whether the command itself is on its way: a dry run after it would be rejected because of its events
 */
export const useDryRun = (
  { source, id, last }: ActTarget,
  draft: ActDraft,
  isSending: boolean,
): DryRunState => {
  const [state, setState] = useState<DryRunState>({ preview: undefined, problem: undefined, isBusy: true })
  const isReady = lackOf(draft) === undefined
  const isFork = draft.act === 'fork'
  const body = { ...commandOf(draft), ...(isFork ? {} : { after: last }) }
  useEffect(() => {
    if (isSending) return undefined
    if (!isReady) {
      setState({ preview: undefined, problem: undefined, isBusy: false })
      return undefined
    }
    const asking = new AbortController()
    const { signal } = asking
    setState((before) => ({ ...before, isBusy: true }))
    const ask = (): void => {
      source.post(apiOf(id, '/commands', { dryRun: true }), body, { signal }).then(
        (answer) =>
          signal.aborted ||
          setState({
            preview: 'before' in answer ? answer : undefined,
            problem: undefined,
            isBusy: false,
          }),
        (error: unknown) =>
          signal.aborted || setState({ preview: undefined, problem: problemOf(error), isBusy: false }),
      )
    }
    const timer = setTimeout(ask, rest)
    return () => {
      clearTimeout(timer)
      asking.abort()
    }
  }, [source, id, JSON.stringify(body), isReady, isSending])
  return state
}

/** Returns the queued and running work on a conversation; undefined while loading or if the server cannot list its workers. */
export const useServing = ({ source, id }: ActTarget): WorkStatus | undefined => {
  const [serving, setServing] = useState<WorkStatus>()
  useEffect(() => {
    const asking = new AbortController()
    const { signal } = asking
    const ask = async (): Promise<void> => {
      const [turns, workers] = await Promise.all([
        source.get(apiPathOf('/steps', {}, { beginning: id }), { signal }),
        source.get(apiPathOf('/workers'), { signal }),
      ])
      setServing({ steps: turns.items, workers: workers.items.length })
    }
    ask().catch(() => undefined)
    return () => asking.abort()
  }, [source, id])
  return serving
}
