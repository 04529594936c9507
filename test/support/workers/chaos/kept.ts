import { mkdirSync, writeFileSync } from 'node:fs'

/** What full doses came to: of scenes with real processes, and of orders in one process. */
export interface Dose {
  /** When it ended: ISO 8601, UTC. */
  readonly date: string
  /** Of the scenes, and whatever was done to processes and stores in them. */
  readonly scenes?: number
  readonly faults?: number
  readonly orders?: number
  /** Those that were judged, if they were counted. */
  readonly replies?: number
  /** What the judge found, and what failed otherwise. */
  readonly wrong: readonly string[]
}

export const doseFile = (of: 'scenes' | 'orders'): URL =>
  new URL(`../../../../reports/chaos/${of}.json`, import.meta.url)

/** Leaves it where the benchmarks of workers find it. */
export const keepDose = (of: 'scenes' | 'orders', dose: Omit<Dose, 'date'>): void => {
  mkdirSync(new URL('.', doseFile(of)), { recursive: true })
  const date = new Date().toISOString()
  writeFileSync(doseFile(of), JSON.stringify({ date, ...dose } satisfies Dose))
}
