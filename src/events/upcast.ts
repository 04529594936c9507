/** An event's type and parsed data, of whatever schema version. */
export interface VersionedEvent {
  readonly type: string
  readonly data: unknown
}
/** One pure step: what an event of one schema version is in the next. An event that did not change is returned as it is. */
export type Upcaster = (event: VersionedEvent) => VersionedEvent

/**
 * The steps, oldest first: `upcasters[0]` lifts version 1 to version 2. Empty while there is one version.
 * To change the schema: add a step, add golden files of the new version under test/golden, leave the old ones alone.
 */
const upcasters: readonly Upcaster[] = []

/** The schema version that this palimpsest writes. */
export const currentSchema = upcasters.length + 1

/** Lifts an event from the version that it was stored in to the newest that `steps` know. */
export const upcast = (
  type: string,
  data: unknown,
  schema: number,
  steps: readonly Upcaster[] = upcasters,
): VersionedEvent => {
  let event: VersionedEvent = { type, data }
  for (let version = schema; version <= steps.length; version++) event = steps[version - 1]?.(event) ?? event
  return event
}
