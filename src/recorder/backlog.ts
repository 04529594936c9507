/** Maximum number of calls that wait to be recorded, and of bytes in their bodies. Further calls are not recorded. */
const mostCalls = 256
const mostBytes = 64 * 1024 * 1024

/** Reason why calls are not recorded for which there is no room. */
export const noRoom = 'more calls are waiting to be recorded than fit into memory'

/** Calls that wait to be recorded. */
export interface CallBacklog {
  /** Adds a call with this number of bytes; returns false if there is no room for it. */
  readonly add: (bytes: number) => boolean
  readonly remove: (bytes: number) => void
}

export const createBacklog = (): CallBacklog => {
  let [calls, waiting] = [0, 0]
  return {
    add: (bytes) => {
      if (calls >= mostCalls || waiting + bytes > mostBytes) return false
      calls++
      waiting += bytes
      return true
    },
    remove: (bytes) => {
      calls--
      waiting -= bytes
    },
  }
}
