import type { Store } from '../index.ts'

/** Minimum length of a shortened id in lists, and of one that is accepted by a command that writes. */
export const shortest = 8

/** Minimum length of a shortened agent in the id of a subagent (`id:agent`). */
const shortestAgent = 4

/** Matches an id up to the eighth digit of a long hexadecimal part. Other ids are names that people chose: they are not shortened. */
const machineMade = /^.*?[0-9a-f]{8}(?=[0-9a-f-]{4})/i

/** Returns ids by their short forms on a terminal: each is unique in the store, so that commands accept it. */
export const shortIdsIn = async (
  store: Store,
  shown: readonly string[],
): Promise<ReadonlyMap<string, string>> => {
  const ids = new Set(shown)
  const beginnings = new Set(
    shown.flatMap((id) => {
      const { main, agent } = partsOf(id)
      return machineMade.exec(main)?.[0] ?? (agent === undefined ? [] : `${main}:`)
    }),
  )
  for (const beginning of beginnings)
    for await (const { id } of store.conversations({ beginning })) ids.add(id)
  return shortIds([...ids])
}

/** Returns the shortest unique form of each id, with both parts of a subagent's id shortened. The ids are all that there are. */
export const shortIds = (ids: readonly string[]): ReadonlyMap<string, string> => {
  const agents = Map.groupBy(ids, (id) => partsOf(id).main)
  const mains = shortForms([...agents.keys()], (main) => machineMade.exec(main)?.[0].length ?? main.length)
  return new Map(
    [...agents].flatMap(([main, group]) => {
      const names = group.flatMap((id) => partsOf(id).agent ?? [])
      const short = shortForms(names, (name) => (/\d/.test(name) ? shortestAgent : name.length))
      return group.map((id) => {
        const { agent } = partsOf(id)
        const forms = agent === undefined ? [mains.get(main)] : [mains.get(main), short.get(agent)]
        return [id, forms.includes(undefined) ? id : forms.join(':')] as const
      })
    }),
  )
}

const partsOf = (id: string): { readonly main: string; readonly agent: string | undefined } => {
  const [main = '', agent] = id.split(/:(.*)/s)
  return { main, agent }
}

/**
 * Shortens each text to its least length, or to one character more than it shares with any other text. Omits texts with which another one
 * begins.
 */
const shortForms = (
  texts: readonly string[],
  leastOf: (text: string) => number,
): ReadonlyMap<string, string> => {
  const sorted = texts.toSorted((a, b) => (a < b ? -1 : 1))
  return new Map(
    sorted.flatMap((text, index) => {
      const shared = Math.max(sharedBy(text, sorted[index - 1]), sharedBy(text, sorted[index + 1]))
      return shared === text.length ? [] : [[text, text.slice(0, Math.max(leastOf(text), shared + 1))]]
    }),
  )
}

const sharedBy = (text: string, other = ''): number => {
  let at = 0
  while (at < text.length && text[at] === other[at]) at++
  return at
}
