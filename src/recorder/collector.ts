/** Maximum size of a reply that is kept for the recorder, in bytes. A longer one reaches the caller, but counts as incomplete. */
export const mostReply = 32 * 1024 * 1024

/** Collects pieces up to a size, in bytes. */
export const createCollector = (most: number) => {
  let pieces: Uint8Array[] | undefined = []
  let size = 0
  return {
    add: (piece: Uint8Array): void => {
      size += piece.length
      if (size > most) pieces = undefined
      pieces?.push(piece)
    },
    /** Returns the bytes in memory of their own, so that they can be given to another thread; undefined if there were too many. */
    bytes: (): Uint8Array | undefined => {
      if (!pieces) return undefined
      const all = new Uint8Array(size)
      let at = 0
      for (const piece of pieces) {
        all.set(piece, at)
        at += piece.length
      }
      return all
    },
  }
}
