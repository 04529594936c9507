import type { Link } from '../projections/notes.ts'

/** Name of the relation from a subagent's conversation to the conversation whose agent started it. */
const relation = 'subagent-of'

/** Returns the subagents of each conversation, from the links stored with the subagents. */
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

/** Returns the subagents of each conversation, from the links stored with the conversation itself. */
export const subagentsNamed = (links: Iterable<Link>): ReadonlyMap<string, readonly string[]> => {
  const named = new Map<string, string[]>()
  for (const { relation: word, from, conversation } of links)
    if (word === 'has-subagent' && conversation !== undefined)
      named.set(from, [...(named.get(from) ?? []), conversation])
  return named
}

/** Returns a conversation and all its direct and indirect subagents, each once, even if the links form a diamond or a cycle. */
export const familyOf = (id: string, children: ReadonlyMap<string, readonly string[]>): readonly string[] => {
  const family = new Set([id])
  // A set can grow while it is iterated.
  for (const each of family) for (const child of children.get(each) ?? []) family.add(child)
  return [...family]
}
