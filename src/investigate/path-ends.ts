/** Minimum length of the last part of a path that can stand for the path. */
const shortest = 4

/** Returns the last part of a path, such as the name of its file; undefined if the term is no path, or the part is too short. */
export const lastPartOf = (term: string): string | undefined => {
  const part = term.slice(term.lastIndexOf('/') + 1)
  return part.length < term.length && part.length >= shortest ? part : undefined
}

/**
 * Reports whether a text names a path by its end: `src/a.ts` for `/repo/src/a.ts`, or `a.ts` if `isName` is true. The name of a file in
 * another folder (`test/a.ts`) is not the end of the path.
 */
export const namesEndOf = (path: string, text: string, isName: boolean): boolean => {
  const part = lastPartOf(path)
  if (part === undefined) return false
  for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + 1)) {
    const [folders = ''] = /[\w@./~-]*$/.exec(text.slice(Math.max(0, at - path.length), at)) ?? []
    const end = folders.replace(/^(?:\.{1,2}\/)+/, '') + part
    const isWhole = end.length > part.length ? `/${path}`.endsWith(`/${end}`) : isName && folders === ''
    if (isWhole && !/^(?:[\w-]|\.\w)/.test(text.slice(at + part.length, at + part.length + 2))) return true
  }
  return false
}
