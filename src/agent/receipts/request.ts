import * as E from 'fp-ts/lib/Either.js'
import type { ChatForm } from '../models/form.ts'
import { type Chat, type ChatRepair, chatOf, currentChat, withReasoning } from '../models/openai/chat/chat.ts'
import { configurationOf, type Effective } from '../../projections/effective.ts'
import { render, type RenderResult, type Repair } from '../../projections/render/renderer.ts'
import { render as render1 } from '../../projections/renderers/1/renderer.ts'
import { recordedRenderer, type RecordedRequest } from './recorded-schema.ts'
import { recordedRequest } from './recorded.ts'
import { type UnknownRenderer, unknownRenderer } from './errors.ts'

/** Options for making a request from a history. Together with the history, they determine the request's bytes. Receipts record them. */
export interface RequestOptions {
  /** Version of the renderer. */
  readonly renderer: number
  /** True if the model accepts `system` messages among the other messages. Default false. */
  readonly systemMessages?: boolean | undefined
  /** Lifetime of the cache breakpoints to set. By default, the stored breakpoints are used. */
  readonly cache?: '5m' | '1h' | undefined
  /** Form to translate the rendered request into. Default: the Messages API's. */
  readonly form?: ChatForm | undefined
  /** Composition of a request that another program recorded; `renderer` is then `recordedRenderer`. */
  readonly recorded?: RecordedRequest | undefined
}

/** Request as it is sent, with its deviations from the stored content. */
export interface RenderedRequest extends Omit<RenderResult, 'repairs'> {
  readonly repairs: readonly (Repair | ChatRepair)[]
  /** The request in the form of Chat Completions, if it is sent in that form. */
  readonly chat?: Chat
}

type Renderer = (
  effective: Effective,
  options: Omit<RequestOptions, 'renderer' | 'form' | 'recorded'>,
) => RenderResult

// A receipt is always checked with the renderer that made its request. So before the output of `render` changes, its folder is copied
// unchanged and registered here under its number, and `render` gets the next number; docs/adr/0011-receipts.md. Golden files check the
// output of each number (test/golden/renderers).
export const renderers = { 1: render1, 2: render } as const satisfies Readonly<Record<number, Renderer>>
const byVersion = new Map<number, Renderer>(
  Object.entries(renderers).map(([version, made]) => [Number(version), made]),
)

/** Version of the renderer for new requests. */
export const currentRenderer = 2

/** Renders a request from a history with the given version of the renderer. */
export const requestOf = (
  effective: Effective,
  { renderer, form, recorded, ...options }: RequestOptions,
): E.Either<UnknownRenderer, RenderedRequest> => {
  if (renderer === recordedRenderer && recorded) return E.right(recordedRequest(effective, recorded))
  const made = byVersion.get(renderer)
  if (!made) return E.left(unknownRenderer(renderer, [...byVersion.keys()]))
  if (!form) return E.right(made(effective, options))
  if (form.version !== currentChat) return E.left(unknownRenderer(form.version, [currentChat], 'form'))
  const rendered = made(withReasoning(effective, form), options)
  const { chat, repairs } = chatOf(effective, rendered, form, configurationOf(effective).parameters ?? {})
  return E.right({ ...rendered, chat, repairs: [...rendered.repairs, ...repairs] })
}
