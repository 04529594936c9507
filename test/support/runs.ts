/** How much of the whole dose random tests take: by default a part, in CI all of it, and still less under mutation. */
export const scale = Number(process.env['PALIMPSEST_RUNS'] ?? 0.3)

/** The number of runs of a property, given the whole dose. */
export const runs = (whole: number): number => Math.ceil(whole * scale)

/** As many of these as the dose says, spread over all of them, the last one always. */
export const some = <A>(all: readonly A[]): readonly A[] => {
  const nth = (index: number): number => Math.floor((all.length - 1 - index) * Math.min(1, scale))
  return all.filter((_, index) => index === all.length - 1 || nth(index) !== nth(index + 1))
}
