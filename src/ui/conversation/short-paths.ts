/** Returns a function that omits the folder in which most of the absolute paths are, such as the project's. */
export const shortPathsOf = (texts: readonly string[]): ((text: string) => string) => {
  const paths = texts.filter((text) => text.startsWith('/'))
  let root = '/'
  for (;;) {
    const inside = paths.filter((path) => path.startsWith(root))
    const folders = inside.flatMap((path) => /^[^/]*\//.exec(path.slice(root.length))?.[0] ?? [])
    const most = [...Map.groupBy(folders, (folder) => folder)].toSorted(
      ([, some], [, others]) => others.length - some.length,
    )[0]
    if (!most || most[1].length < 2 || most[1].length < 0.7 * inside.length) break
    root += most[0]
  }
  return (text) => (root.length > 1 && text.startsWith(root) ? text.slice(root.length) : text)
}
