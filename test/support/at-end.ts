type Close = () => unknown
const closing: Close[] = []

/** Does something when the test that runs is over, the last thing first. */
export const atEnd = (...close: readonly Close[]): void => {
  closing.push(...close)
}

/** Does all of it, also if a part of it throws: after-each.ts calls it. Rejects with what was thrown. */
export const closeAll = async (): Promise<void> => {
  const faults: unknown[] = []
  for (let close = closing.pop(); close; close = closing.pop())
    try {
      await close()
    } catch (fault) {
      faults.push(fault)
    }
  if (faults.length > 1) throw new AggregateError(faults, faults.map(String).join('\n'))
  if (faults.length === 1) throw faults[0]
}
