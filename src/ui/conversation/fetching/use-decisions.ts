import type { CallListResponse, OutlineResponse } from '../../source/answers.ts'
import type { ApiSource } from '../../source/source.ts'
import { useAsked, useRested } from '../../states.tsx'
import { apiOf } from '../../url.ts'

type CallWait = NonNullable<NonNullable<CallListResponse['items'][number]['step']>['tools'][number]['wait']>

const none: ReadonlyMap<string, CallWait> = new Map()
/** Number of calls of the model up to a position whose decisions are shown. */
const most = 100

/**
 * Returns the decisions of people on tool calls up to a position, by call id. Only calls with a receipt can have one: imported sessions
 * are not asked about.
 */
export const useDecisions = (
  source: ApiSource,
  id: string,
  at: number | undefined,
  outline: OutlineResponse | undefined,
): ReadonlyMap<string, CallWait> => {
  const isRested = useRested(at, 400) !== undefined
  const calls = outline?.calls.filter((position) => position <= (at ?? -1)).slice(-most) ?? []
  const [from] = calls
  const last = calls.at(-1)
  const isAsked = source.isLive && isRested && from !== undefined
  const { value } = useAsked(
    isAsked
      ? async (signal) => {
          const { items } = await source.get(apiOf(id, '/calls', { from, limit: most, steps: true }), {
            signal,
          })
          return new Map(
            items.flatMap(({ step }) =>
              (step?.tools ?? []).flatMap(({ call, wait }) =>
                wait?.decision === undefined ? [] : [[call, wait] as const],
              ),
            ),
          )
        }
      : undefined,
    [source, id, isAsked, from, last],
  )
  return value ?? none
}
