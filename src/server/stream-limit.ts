import { requestError } from './problem.ts'
import type { HeaderFields } from './request-input.ts'
import type { Route } from './route.ts'
import { acceptsEvents } from './sse.ts'

/** Maximum number of event streams that are open at the same time. Each takes up to 200 kB, even if its reader has stopped reading. */
const mostStreams = 1_000

/** Reports whether the response of an operation is an event stream. */
const isStream = ({ message, answers }: Route, headers: HeaderFields): boolean =>
  message !== undefined && (Object.keys(answers).length === 0 || acceptsEvents(headers))

/**
 * Makes a function that reserves room for the event stream of a request, before the operation begins. It returns a function that frees
 * the room, or undefined if the response is no event stream. Throws `Overloaded` if `most` streams are open.
 */
export const streamLimit = (most = mostStreams) => {
  let open = 0
  return (route: Route, headers: HeaderFields): (() => void) | undefined => {
    if (!isStream(route, headers)) return undefined
    if (open >= most)
      throw requestError(
        'Overloaded',
        `${most} event streams are open, the most that this server serves: close one, or try again later`,
        { limit: most },
      )
    open++
    let isFreed = false
    return () => {
      if (!isFreed) open--
      isFreed = true
    }
  }
}
