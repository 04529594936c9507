import type { Link } from '../projections/notes.ts'

/** Relation from a conversation to the one whose agent started it. */
const relation = 'subagent-of'

/** Returns the subagents of each conversation, from the links that the subagents have. */
export const childrenIn = (links: Iterable<Link>): ReadonlyMap<string, readonly string[]> => {
  const children = new Map<string, string[]>()
  for (const { relation: named, from, conversation } of links) {
    if (named !== relation || conversation === undefined) continue
    const before = children.get(conversation)
    if (!before) children.set(conversation, [from])
    else if (!before.includes(from)) before.push(from)
  }
  return children
}

/** Returns a conversation with all its direct and indirect subagents, each once, even if the links form a diamond or a circle. */
export const familyOf = (id: string, children: ReadonlyMap<string, readonly string[]>): readonly string[] => {
  const family = new Set([id])
  // A set can grow while it is iterated.
  for (const each of family) for (const child of children.get(each) ?? []) family.add(child)
  return [...family]
}
