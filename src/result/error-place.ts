import { isAbsolute, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Folder of the library's own modules. */
const own = fileURLToPath(new URL('../', import.meta.url))

/**
 * Returns the source locations of anything thrown, innermost first, as `path:line:column`; for a syntax error, the first one may be
 * `path:line`. The library's own modules are omitted.
 */
export const placesOf = (error: unknown): readonly string[] => {
  try {
    const stack: unknown = error instanceof Error ? error.stack : undefined
    return typeof stack === 'string' ? placesIn(stack).filter((place) => !place.startsWith(own)) : []
  } catch {
    // A stack may be anything, also a getter that throws, and a location may be no path of this system.
    return []
  }
}

/**
 * Extracts the source locations of files from a stack trace. For a syntax error, the location is on the first line, before the message.
 */
export const placesIn = (stack: string): readonly string[] => {
  const [, first] = /^((?:file:\/\/|\/|[A-Za-z]:\\).*:\d+)\n/.exec(stack) ?? []
  const frames = [
    ...stack.matchAll(/^ +at (?:.* \()?(?:async )?((?:file:\/\/|\/|[A-Za-z]:\\).*:\d+:\d+)\)?$/gm),
  ]
  return [...(first === undefined ? [] : [first]), ...frames.map(([, place = '']) => place)].map(pathOf)
}

const pathOf = (place: string): string => {
  const [, url = '', line = ''] = /^(file:.*?)((?::\d+)+)$/.exec(place) ?? []
  return url === '' ? place : fileURLToPath(url) + line
}

/** Makes the path of a source location relative if it is inside the current folder. */
export const shortPlace = (place: string): string => {
  const short = relative(process.cwd(), place)
  return short.startsWith('..') || isAbsolute(short) ? place : short
}
