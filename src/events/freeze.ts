/**
 * Makes a JSON value read-only at all depths and returns it. Values that are both cached and given to callers must not change: receipts
 * and rendered bytes depend on them. Skips values that are already frozen. Uses no recursion, because stored values may be deeply
 * nested.
 */
export const freeze = <A>(value: A): A => {
  const open: unknown[] = [value]
  const add = (inner: unknown): void => {
    if (typeof inner === 'object' && inner !== null) open.push(inner)
  }
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (typeof next !== 'object' || next === null || Object.isFrozen(next)) continue
    Object.freeze(next)
    if (Array.isArray(next)) for (const inner of next) add(inner)
    // A list of the values would take three times as long if an object has a million of them.
    else for (const key in next) add(next[key as keyof typeof next])
  }
  return value
}
