import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Link, mergeLinks } from '../../src/projections/notes.ts'
import { runs } from '../support/runs.ts'

/** As the docstring of `mergeLinks` says it, link by link. */
const mergedByPairs = (links: readonly Link[]): readonly Link[] => {
  const found: Link[] = []
  for (const link of links) {
    const index = found.findIndex(
      (one) =>
        one.relation === link.relation &&
        (one.conversation === undefined || link.conversation === undefined
          ? one.ref !== undefined && one.ref === link.ref
          : one.conversation === link.conversation),
    )
    if (index < 0) found.push(link)
    else found[index] = { ...found[index], ...link }
  }
  return found
}

const metadata = { actor: { kind: 'test' } } as Link['metadata']
const few = fc.option(fc.constantFrom('a', 'b', 'c'), { nil: undefined })
const link = fc
  .record({ relation: fc.constantFrom('x', 'y'), conversation: few, ref: few })
  .map(({ relation, conversation, ref }) => ({
    relation,
    ...(conversation !== undefined && { conversation }),
    ...(ref !== undefined && { ref }),
  }))

test('links are merged as if each were compared with all before it', () => {
  fc.assert(
    fc.property(fc.array(link, { maxLength: 40 }), (given) => {
      const links = given.map((one, revision): Link => ({
        ...one,
        from: 'f',
        at: 0,
        revision,
        id: `${revision}`,
        metadata,
      }))
      expect(mergeLinks(links)).toEqual(mergedByPairs(links))
    }),
    { numRuns: runs(500) },
  )
})
