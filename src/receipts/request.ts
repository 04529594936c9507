import * as E from 'fp-ts/lib/Either.js'
import type { Effective } from '../projections/effective.ts'
import { render, type Rendered } from '../projections/render/renderer.ts'
import { type UnknownRenderer, unknownRenderer } from './errors.ts'

/** How a request is made from a history; with the history itself, all that decides the request's bytes. Receipts keep it. */
export interface RequestOptions {
  /** Version of the renderer. */
  readonly renderer: number
  /** The model accepts messages of role `system` between the others. Default false. */
  readonly systemMessages?: boolean
  /** Set cache breakpoints that live this long. Default: the stored ones. */
  readonly cache?: '5m' | '1h'
}

type Renderer = (effective: Effective, options: Omit<RequestOptions, 'renderer'>) => Rendered

// A receipt is always checked with the renderer that made its request. So before `render` answers anything else, its folder is copied
// as it is and registered here under its number, and `render` gets the next number; docs/adr/0011-receipts.md. Golden files hold each
// number to its answers (test/golden/renderers).
export const renderer1: Renderer = render
const renderers = new Map<number, Renderer>([[1, renderer1]])

/** The renderer of new requests. */
export const currentRenderer = 1

/** The request that a version of the renderer makes from a history. */
export const requestOf = (
  effective: Effective,
  { renderer, ...options }: RequestOptions,
): E.Either<UnknownRenderer, Rendered> => {
  const made = renderers.get(renderer)
  return made ? E.right(made(effective, options)) : E.left(unknownRenderer(renderer, [...renderers.keys()]))
}
