/**
 * Makes a value of JSON read-only, all the way down; returns the value. What is kept and given away must stay what it is: receipts and
 * rendered bytes rest on it. Ends where something is frozen already. No recursion: stored values may be nested deeply.
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
