import { hash } from 'node:crypto'
import type { Block } from '../events/block-types.ts'
import { configurationOf, effective, type Item } from '../projections/effective.ts'
import type { Log } from '../projections/path.ts'
import { render } from '../projections/render/renderer.ts'
import type { Verdict } from './bisection.ts'
import { canonicalText } from './canonical.ts'

/** The conversation as it was at a position, for whoever judges it. */
export interface Judgeable {
  readonly conversation: string
  readonly position: number
  /** The effective history: what the model sees there. */
  readonly items: readonly Item[]
  /** The same as the body of a request, as `render` makes it. */
  readonly request: {
    readonly messages: readonly { readonly role: string; readonly content: readonly Block[] }[]
    readonly [field: string]: unknown
  }
}

/** What somebody or something thinks of it, and what that is based on: any JSON. */
export interface JudgeResult {
  readonly verdict: Verdict
  readonly evidence?: unknown
}
export type Judge = (state: Judgeable) => Promise<JudgeResult> | JudgeResult

export const judgeableAt = (conversation: string, log: Log, position: number): Judgeable => {
  const shown = effective(log, position)
  const { repairs: _, awaits: _awaits, messages, ...rendered } = render(shown)
  const { model, parameters } = configurationOf(shown)
  const request = { ...parameters, ...(model !== undefined && { model }), ...rendered, messages }
  return { conversation, position, items: shown.items, request }
}

/** SHA-256 (hex) of the canonical JSON of the whole request. A receipt's digest has neither model nor parameters, and these may be what is wrong. */
export const digestOfRequest = ({ request }: Judgeable): string => hash('sha256', canonicalText(request))
