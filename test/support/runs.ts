/** How much of the usual work random tests do; below 1 where tests run again and again, as under mutation. */
export const scale = Number(process.env['PALIMPSEST_RUNS'] ?? 1)

/** The number of runs of a property. */
export const runs = (usual: number): number => Math.ceil(usual * scale)
