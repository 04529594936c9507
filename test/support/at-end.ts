type Close = () => unknown
const closing: Close[] = []

/** Does something when the test that runs is over, the last thing first. */
export const atEnd = (...close: readonly Close[]): void => {
  closing.push(...close)
}

/** Does all of it: after-each.ts calls it. */
export const closeAll = async (): Promise<void> => {
  for (let close = closing.pop(); close; close = closing.pop()) await close()
}
