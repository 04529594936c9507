// Configurations as texts that can be compared.

/** Returns the system prompt of a request as text, with blank lines between its blocks. */
export const systemText = (system: unknown): string => {
  if (typeof system === 'string') return system
  if (!Array.isArray(system)) return ''
  return (system as readonly { readonly text?: unknown }[])
    .map(({ text }) => (typeof text === 'string' ? text : ''))
    .join('\n\n')
}

/** Tool that was added, removed or changed, with its JSON before and after; undefined where the tool did not exist. */
export interface ToolChange {
  readonly name: string
  readonly before: string | undefined
  readonly after: string | undefined
}

/** Returns the added, removed and changed tools. */
export const toolChanges = (before: unknown, after: unknown): readonly ToolChange[] => {
  const [old, now] = [textsOf(before), textsOf(after)]
  return [...new Set([...old.keys(), ...now.keys()])]
    .filter((name) => old.get(name) !== now.get(name))
    .map((name) => ({ name, before: old.get(name), after: now.get(name) }))
}

interface Tool {
  readonly name?: string
  readonly type?: string
  readonly [field: string]: unknown
}

/** Returns the JSON of each tool, by name. Leaves out cache breakpoints, which change without affecting the tool. */
const textsOf = (tools: unknown): ReadonlyMap<string, string> => {
  const all = Array.isArray(tools) ? (tools as readonly Tool[]) : []
  return new Map(
    all.map((given) => {
      const { cache_control: _, ...tool } = given
      const { name, type } = tool
      return [String(name ?? type), JSON.stringify(tool, undefined, 2)]
    }),
  )
}
