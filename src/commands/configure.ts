import type { Configuration, Event } from '../events/events.ts'
import { configurationOf } from '../projections/effective.ts'
import type { Command } from './command.ts'
import type { State } from './state.ts'

/** The configuration in force with the fields given: whole, so that a reader needs one event. Nothing, if nothing changes. */
export const configure = (command: Command<'configure'>, { effective }: State): readonly Event[] => {
  const { system, tools, model, parameters } = command
  const now = configurationOf(effective)
  const given = Object.entries({ system, tools, model, parameters }).filter(
    ([, value]) => value !== undefined,
  )
  const merged = Object.entries({ ...now, ...Object.fromEntries(given) }).filter(
    ([, value]) => value !== null,
  )
  const data: Configuration = Object.fromEntries(merged)
  return JSON.stringify(data) === JSON.stringify(now) ? [] : [{ type: 'Configured', data }]
}
