import type { FindPage, Store } from '../index.ts'
import type { Host } from './host.ts'

/** Waits until every event is indexed, or until that turns out to be impossible. If it takes long, says so on standard error. */
export const waitForIndex = async ({ catalogue }: Store, { stderr }: Host): Promise<FindPage> => {
  let page = await catalogue.find({ limit: 1 })
  if (!page.isComplete && page.problem === undefined)
    stderr.write('the index is being filled, once: later lists need not wait\n')
  while (!page.isComplete && page.problem === undefined) page = await catalogue.find({ limit: 1 })
  return page
}

/** Reports whether a problem of an index leaves conversations out; an index in memory has them all. */
export const leavesOut = (problem: string | undefined): problem is string =>
  problem !== undefined && !problem.startsWith('the index cannot be kept')
