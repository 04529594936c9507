/** Returns the texts with absolute paths shortened by the folders that they have in common, if these are several. */
export const shortPaths = (texts: readonly string[]): readonly string[] => {
  const paths = texts.filter((text) => text.startsWith('/')).map((text) => text.split('/').slice(0, -1))
  const [first = []] = paths
  let shared = first.findIndex(
    (part, index) => paths.filter((path) => path[index] === part).length * 2 <= paths.length,
  )
  if (shared < 0) shared = first.length
  const prefix = `${first.slice(0, shared).join('/')}/`
  return texts.map((text) =>
    shared > 2 && paths.length > 1 && text.startsWith(prefix) ? text.slice(prefix.length) : text,
  )
}
