import canonicalize from 'canonicalize'
import type { Configuration } from '../../events/events.ts'
import { configurationOf, type Effective, isReply, type Item } from '../../projections/effective.ts'
import { isCompaction, wellFormed } from '../../projections/render/renderer.ts'
import type { CondenseInput, ConfigureInput } from '../../conversation/writing/inputs.ts'

/** Write that must precede everything else in a step: a new configuration, or the record of a compaction made by the API. */
export type StepPreparation =
  | { readonly type: 'configure'; readonly input: ConfigureInput }
  | { readonly type: 'condense'; readonly input: CondenseInput }

/** Returns the preparation of a step, if any is necessary. `wanted` is undefined while not known. */
export const preparationOf = (
  now: Effective,
  wanted: Configuration | undefined,
): StepPreparation | undefined => {
  if (wanted && !isConfigured(now, wanted)) return { type: 'configure', input: { ...wanted, after: now.at } }
  const input = compactionIn(now)
  return input && { type: 'condense', input }
}

/** Reports whether the wanted configuration is in force. */
export const isConfigured = (now: Effective, wanted: Configuration): boolean => {
  const inForce = configurationOf(now)
  const fields = Object.keys(wanted) as (keyof Configuration)[]
  return fields.every((field) => isSame(wanted[field], inForce[field]))
}

/** Reports whether two values are equal as canonical JSON, without the lone surrogates, which are not sent. */
const isSame = (one: unknown, other: unknown): boolean =>
  JSON.stringify(one) === JSON.stringify(other) ||
  canonicalize(wellFormed(one)) === canonicalize(wellFormed(other))

/**
 * Returns the record of a compaction that the API made in the middle of a reply. The API ignores everything before the reply's
 * compaction block, so this block becomes the summary of the earlier items. Returns undefined if the compaction is already recorded, or
 * if the API made none.
 */
const compactionIn = ({ items, at }: Effective): CondenseInput | undefined => {
  const index = items.findLastIndex(holdsCompaction)
  const reply = items[index]
  const [first] = items
  const before = items[index - 1]
  if (reply?.kind !== 'message' || !first || !before) return undefined
  // If the only item before the reply is a newer marker, everything earlier is already hidden: by the summary, or by its replacement.
  if (index === 1 && before.kind !== 'message' && before.position > reply.position) return undefined
  const content = reply.content.filter(isCompaction).slice(-1)
  // The call's receipt stays with the reply.
  const { context: _, ...origin } = reply.origin ?? {}
  return {
    covers: { first: first.position, last: before.position },
    summary: [{ role: 'assistant', content }],
    method: 'provider',
    ...(reply.origin && { origin }),
    after: at,
  }
}

const holdsCompaction = (item: Item): boolean => isReply(item) && item.content.some(isCompaction)
