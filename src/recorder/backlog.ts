/** Maximum number of calls that wait to be recorded, and of bytes in their bodies. Further calls are not recorded. */
export interface BacklogLimits {
  readonly calls: number
  readonly bytes: number
}

/** Limits of what waits in memory. */
const memoryLimits: BacklogLimits = { calls: 256, bytes: 64 * 1024 * 1024 }

/** Reason why calls are not recorded for which there is no room. */
export const noRoom = 'more calls are waiting to be recorded than there is room for'

/** Calls that wait to be recorded. */
export interface CallBacklog {
  /** Adds a call with this number of bytes; returns false if there is no room for it. */
  readonly add: (bytes: number) => boolean
  readonly remove: (bytes: number) => void
}

export const createBacklog = (most: BacklogLimits = memoryLimits): CallBacklog => {
  let [calls, waiting] = [0, 0]
  return {
    add: (bytes) => {
      if (calls >= most.calls || waiting + bytes > most.bytes) return false
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
