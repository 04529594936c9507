/** US dollars: four decimals, as single calls cost cents. */
export const usdText = (usd: number): string => usd.toFixed(4)
