import type { Configuration, Event } from '../events/events.ts'
import { withoutSecrets } from '../events/secrets.ts'
import { configurationOf } from '../projections/effective.ts'
import type { Command } from './command.ts'
import type { ShownState } from './state.ts'

/**
 * Returns a `Configured` event that contains the current configuration with the given fields changed. The event is complete, so readers
 * need no earlier one, and contains references in place of secrets. Returns no event if nothing changes.
 */
export const configure = (command: Command<'configure'>, { effective }: ShownState): readonly Event[] => {
  const { system, tools, model, parameters } = command
  const now = configurationOf(effective)
  const given = Object.entries({ system, tools, model, parameters }).filter(
    ([, value]) => value !== undefined,
  )
  const merged = Object.entries({ ...now, ...Object.fromEntries(given) }).filter(
    ([, value]) => value !== null,
  )
  const data: Configuration = withoutSecretParameters(Object.fromEntries(merged))
  return JSON.stringify(data) === JSON.stringify(now) ? [] : [{ type: 'Configured', data }]
}

/**
 * Replaces secrets in a configuration's parameters with references. Parameters kept from an earlier configuration may contain secrets,
 * because they may be older than this rule.
 */
export const withoutSecretParameters = (configuration: Configuration): Configuration =>
  configuration.parameters
    ? { ...configuration, parameters: withoutSecrets(configuration.parameters) }
    : configuration
