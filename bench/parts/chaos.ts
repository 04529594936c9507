import { existsSync, readFileSync } from 'node:fs'
import { type Dose, doseFile } from '../../test/support/workers/chaos/kept.ts'
import { atMost, count, type Figure, type PartResult } from '../report.ts'

/** What the last full doses of `npm run test:chaos` came to: they take longer than all other parts together, so they are not repeated here. */
export const chaos = (): Promise<PartResult> => {
  const [scenes, orders] = [doseIn('scenes'), doseIn('orders')]
  return Promise.resolve({
    title: 'Chaos: doubled or misplaced replies, effects twice, messages without an answer',
    figures: [...figuresOf(scenes), ...figuresOf(orders)],
    notes: [
      'As the judge of `npm run test:chaos` found them at the end of its last full doses, which were not repeated for this: `reports/chaos` has what is wrong, if anything is.',
      ...(scenes ? [] : ['Scenes not measured: run `npm run test:chaos` first.']),
      ...(orders ? [] : ['Orders not measured: run `npm run test:chaos` first.']),
    ],
  })
}

const doseIn = (of: 'scenes' | 'orders'): Dose | undefined =>
  existsSync(doseFile(of)) ? (JSON.parse(readFileSync(doseFile(of), 'utf8')) as Dose) : undefined

const figuresOf = (dose: Dose | undefined): readonly Figure[] => {
  if (!dose) return []
  const { date, scenes, faults = 0, orders = 0, replies = 0, wrong } = dose
  const played =
    scenes === undefined
      ? `${count(orders)} orders of steps, crashes and people`
      : `${count(scenes)} scenes with real processes, ${count(faults)} times something happened to one or to the store`
  const answered = replies > 0 ? `, ${count(replies)} replies` : ''
  return [atMost(`${played}${answered} (${date.slice(0, 10)})`, wrong.length, 0, count)]
}
