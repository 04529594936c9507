/** Type and parsed data of an event of any schema version. */
export interface VersionedEvent {
  readonly type: string
  readonly data: unknown
}
/** One pure step: converts an event of one schema version to the next. An event that did not change is returned as it is. */
export type Upcaster = (event: VersionedEvent) => VersionedEvent

/**
 * The steps, oldest first: `upcasters[0]` lifts version 1 to version 2. Empty while there is only one version. To change the schema:
 * add a step, add golden files of the new version under test/golden, and leave the old ones unchanged.
 */
const upcasters: readonly Upcaster[] = []

/** Schema version that this palimpsest writes. */
export const currentSchema = upcasters.length + 1

/** Lifts an event from the version in which it was stored to the newest that `steps` know. */
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
