import { hash } from 'node:crypto'
import type { Block } from '../events/block-types.ts'
import { configurationOf, effective, type Item } from '../projections/effective.ts'
import type { Log } from '../projections/path.ts'
import { render } from '../projections/render/renderer.ts'
import type { Verdict } from './bisection.ts'
import { canonicalText } from './canonical.ts'

/** A conversation as of a position, for a judge. */
export interface Judgeable {
  readonly conversation: string
  readonly position: number
  /** Items of the effective history at the position. */
  readonly items: readonly Item[]
  /** Body of a request with the same content, as returned by `render`. */
  readonly request: {
    readonly messages: readonly { readonly role: string; readonly content: readonly Block[] }[]
    readonly [field: string]: unknown
  }
}

/** A verdict with its evidence, which is any JSON value. */
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

/**
 * Returns the SHA-256 (hex) of the canonical JSON of the whole request. A receipt's digest would not suffice, because it omits the
 * model and the parameters, either of which may be the problem.
 */
export const digestOfRequest = ({ request }: Judgeable): string => hash('sha256', canonicalText(request))
