import type { EventKind } from '../projections/columns.ts'

/** Traits of a conversation, one bit each. */
export const traits = { condensed: 1, truncated: 2, rewound: 4, restored: 8, forked: 16 } as const

const ofKinds: Readonly<Partial<Record<EventKind, number>>> = {
  C: traits.condensed,
  T: traits.truncated,
  W: traits.rewound,
  R: traits.restored,
}

/** Returns the trait bit that an event of this kind adds to its conversation; 0 for most kinds. */
export const traitOf = (kind: EventKind): number => ofKinds[kind] ?? 0

export type Trait = keyof typeof traits
export const traitNames = Object.keys(traits) as [Trait, ...Trait[]]

export const traitsIn = (has: number): readonly Trait[] => traitNames.filter((name) => has & traits[name])
