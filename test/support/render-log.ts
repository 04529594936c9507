import type { Event } from '../../src/events/events.ts'
import { effective } from '../../src/projections/effective.ts'
import { render, type RenderResult, type RenderOptions } from '../../src/projections/render/render.ts'
import { logOf, user } from './log.ts'

/** The request of a short log that configures no tools, without the repair that says so. */
export const renderLog = (events: readonly Event[], options: RenderOptions = {}): RenderResult => {
  const rendered = render(effective(logOf(...events)), options)
  return { ...rendered, repairs: rendered.repairs.filter(({ kind }) => kind !== 'tools-unknown') }
}

/** The request of a short log as it is. */
export const rendered = (...events: readonly Event[]): RenderResult => render(effective(logOf(...events)))

/** How most of these logs begin. */
export const hello = user('Hello.')
