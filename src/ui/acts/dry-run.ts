import { useEffect, useState } from 'preact/hooks'
import { apiPathOf } from '../../server/client/api-path.ts'
import type { ActPreview } from '../source/answers.ts'
import type { SourceProblem, ApiSource } from '../source/source.ts'
import { problemOf } from '../source/source.ts'
import { commandOf, type ActDraft, lackOf } from './acts.ts'
import type { WorkStatus } from './preview.ts'
import { apiOf } from '../url.ts'

/** Where a command is carried out. */
export interface ActTarget {
  readonly source: ApiSource
  readonly id: string
  /** The last position that the reader has seen: a command is refused if something came since. */
  readonly last: number
}

/** A name for a command: sent again under it, it is carried out once. */
const commandId = (): string =>
  [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('')

/** Carries a command out. Rejects with a `SourceProblem`. @param after the position that it was decided on */
export const carryOut = ({ source, id }: ActTarget, draft: ActDraft, after: number): Promise<unknown> => {
  const body = { ...commandOf(draft), commandId: commandId(), ...(draft.act === 'fork' ? {} : { after }) }
  return source.post(apiOf(id, '/commands'), body)
}

export interface DryRunState {
  readonly preview: ActPreview | undefined
  /** Why it would be refused. */
  readonly problem: SourceProblem | undefined
  readonly isBusy: boolean
}

/** How long a draft has to rest before it is tried, in milliseconds. */
const rest = 200

/** What a draft would do (of a fork only whether it would be refused), a moment after it has changed. The last answer stays until the next one is there. */
export const useDryRun = ({ source, id, last }: ActTarget, draft: ActDraft): DryRunState => {
  const [state, setState] = useState<DryRunState>({ preview: undefined, problem: undefined, isBusy: true })
  const isReady = lackOf(draft) === undefined
  const isFork = draft.act === 'fork'
  const body = { ...commandOf(draft), ...(isFork ? {} : { after: last }) }
  useEffect(() => {
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
  }, [source, id, JSON.stringify(body), isReady])
  return state
}

/** What workers have to do with a conversation; nothing is known where they cannot be asked. */
export const useServing = ({ source, id }: ActTarget): WorkStatus | undefined => {
  const [serving, setServing] = useState<WorkStatus>()
  useEffect(() => {
    const asking = new AbortController()
    const { signal } = asking
    const ask = async (): Promise<void> => {
      const [turns, workers] = await Promise.all([
        source.get(apiPathOf('/turns', {}, { beginning: id }), { signal }),
        source.get(apiPathOf('/workers'), { signal }),
      ])
      setServing({ steps: turns.items, workers: workers.items.length })
    }
    ask().catch(() => undefined)
    return () => asking.abort()
  }, [source, id])
  return serving
}
