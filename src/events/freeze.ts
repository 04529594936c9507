/**
 * Makes a JSON value read-only at all depths and returns it. Values that are both cached and given to callers must not change: receipts
 * and rendered bytes depend on them. Skips values that are already frozen. Uses no recursion, because stored values may be deeply
 * nested.
 */
export const freeze = <A>(value: A): A => {
  const open: unknown[] = [value]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (typeof next !== 'object' || next === null || Object.isFrozen(next)) continue
    Object.freeze(next)
    for (const inner of Array.isArray(next) ? next : Object.values(next))
      if (typeof inner === 'object' && inner !== null) open.push(inner)
  }
  return value
}
