/** Type and parsed data of an event of any schema version. */
export interface VersionedEvent {
  readonly type: string
  readonly data: unknown
}
/** A pure function that converts an event from one schema version to the next. It returns the same event if nothing changed. */
export type Upcaster = (event: VersionedEvent) => VersionedEvent

/**
 * The upcasters, oldest first: `upcasters[0]` converts version 1 to version 2. Empty while there is only one version. To change the
 * schema: add an upcaster, add golden files of the new version under test/golden, and leave the old ones unchanged.
 */
const upcasters: readonly Upcaster[] = []

/** Schema version that this version of palimpsest writes. */
export const currentSchema = upcasters.length + 1

/** Converts an event from the version in which it was stored to the newest version that `steps` produce. */
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
