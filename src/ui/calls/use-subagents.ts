import type { LinksResponse } from '../source/answers.ts'
import type { ApiSource } from '../source/source.ts'
import { useAsked } from '../states.tsx'
import { apiOf } from '../url.ts'
import { type CallRow, rowsOf } from './turns.ts'
import type { SubagentCalls } from './waterfall.ts'

/** Maximum number of subagents whose calls are shown, and of calls of each. */
const most = 20
const mostCalls = 200

export interface SubagentState {
  /** Calls of each subagent, by the id of the tool call that started it. */
  readonly calls: SubagentCalls
}

const none: SubagentCalls = new Map()

/** Loads the calls of the subagents that these calls started, as far as links name them. */
export const useSubagents = (source: ApiSource, id: string, rows: readonly CallRow[]): SubagentState => {
  const started = new Set(rows.flatMap(({ tools }) => tools.map(({ call }) => call)))
  const isAsked = source.isLive && started.size > 0
  const { value } = useAsked(
    isAsked
      ? async (signal) => {
          const children: { readonly from: string; readonly call: string }[] = []
          for (let offset: number | undefined = 0; offset !== undefined && children.length < most;) {
            const page: LinksResponse = await source.get(apiOf(id, '/links', { offset, limit: 1_000 }), {
              signal,
            })
            for (const { from, relation, conversation, call } of page.items)
              if (
                relation === 'subagent-of' &&
                conversation === id &&
                call !== undefined &&
                started.has(call)
              )
                children.push({ from, call })
            offset = page.next
          }
          const calls = new Map<string, { id: string; rows: readonly CallRow[] }>()
          for (const { from, call } of children.slice(0, most)) {
            // A subagent that was linked, but never copied into this store.
            const answer = await source
              .get(apiOf(from, '/calls', { limit: mostCalls, steps: true }), { signal })
              .catch(() => undefined)
            if (answer) calls.set(call, { id: from, rows: rowsOf(answer.items) })
          }
          return calls
        }
      : undefined,
    [source, id, isAsked, started.size],
  )
  return { calls: value ?? none }
}
