import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { effective, messagesOf } from '../../../src/projections/effective.ts'
import { importFile, onlyLog, planOf } from '../../support/import-log.ts'
import { runs } from '../../support/runs.ts'

interface RooMessage {
  readonly role: 'user' | 'assistant'
  readonly content: string
  readonly ts: number
  readonly isSummary?: boolean
  readonly condenseId?: string
  readonly condenseParent?: string
  readonly isTruncationMarker?: boolean
  readonly truncationId?: string
  readonly truncationParent?: string
}

const said = (content: string, ts: number, tags: Partial<RooMessage> = {}): RooMessage => ({
  role: 'user',
  content,
  ts,
  ...tags,
})
const summary = (
  content: string,
  ts: number,
  condenseId: string,
  tags: Partial<RooMessage> = {},
): RooMessage => said(content, ts, { isSummary: true, condenseId, ...tags })
const marker = (
  content: string,
  ts: number,
  truncationId: string,
  tags: Partial<RooMessage> = {},
): RooMessage => said(content, ts, { isTruncationMarker: true, truncationId, ...tags })

/** What Roo Code sends: all but what a summary or marker in the file hides. */
const effectiveOfRoo = (messages: readonly RooMessage[]): readonly string[] => {
  const summaries = new Set(messages.flatMap(({ isSummary, condenseId }) => (isSummary ? [condenseId] : [])))
  const markers = new Set(
    messages.flatMap(({ isTruncationMarker, truncationId }) => (isTruncationMarker ? [truncationId] : [])),
  )
  return messages
    .filter(
      ({ condenseParent, truncationParent }) =>
        !summaries.has(condenseParent ?? '') && !markers.has(truncationParent ?? ''),
    )
    .map(({ content }) => content)
}

/** What the store shows; the truncations that stand in for the parts of one summary are no message of Roo's. */
const shown = (messages: readonly RooMessage[]): readonly string[] =>
  effective(onlyLog(importFile({ text: JSON.stringify(messages), file: 'f', format: 'roo' }))).items.flatMap(
    (item) => {
      if (item.kind === 'truncation') return item.reason?.startsWith('hidden by') ? [] : [item.reason ?? '']
      return messagesOf(item).map(({ content }) => String(content[0]?.['text']))
    },
  )

describe('Roo Code', () => {
  const condensed = [
    said('task', 1),
    said('a', 2, { condenseParent: 'x' }),
    said('b', 3, { condenseParent: 'x' }),
    summary('X', 4, 'x'),
    said('c', 5),
  ]

  it('a summary is a Condensed of what names it', () => {
    expect(shown(condensed)).toEqual(['task', 'X', 'c'])
    expect(onlyLog(importFile({ text: JSON.stringify(condensed), file: 'f' }))[3]).toMatchObject({
      type: 'Condensed',
      data: { covers: { first: 1, last: 2 }, messagesHidden: 2, method: 'client' },
    })
  })

  it('a truncation hides a summary too', () => {
    const nested = [
      ...condensed.with(3, summary('X', 4, 'x', { truncationParent: 't' })),
      marker('T', 6, 't'),
      said('d', 7),
    ].with(4, said('c', 5, { truncationParent: 't' }))
    expect(shown(nested)).toEqual(['task', 'T', 'd'])
  })

  it('a tag counts only while the file holds what it names', () => {
    expect(shown(condensed.filter(({ isSummary }) => isSummary !== true))).toEqual(['task', 'a', 'b', 'c'])
  })

  it('one summary of several slices hides them all', () => {
    expect(shown(condensed.with(2, said('b', 3)))).toEqual(['task', 'b', 'X', 'c'])
  })

  it('a file that has grown adds what is new', () => {
    const first = importFile({ text: JSON.stringify(condensed), file: 'f', id: 'r' })
    const more = [...condensed, said('d', 8)]
    const grown = onlyLog(importFile({ text: JSON.stringify(more), file: 'f', id: 'r' }, first))
    expect(grown.slice(5)).toMatchObject([{ type: 'MessageAppended' }])
    const later = more.map((each) =>
      each.ts > 1 && each.ts < 6 && each.condenseParent === undefined
        ? { ...each, condenseParent: 'y' }
        : each,
    )
    const again = importFile(
      { text: JSON.stringify([...later, summary('Y', 9, 'y')]), file: 'f', id: 'r' },
      importFile({ text: JSON.stringify(more), file: 'f', id: 'r' }, first),
    )
    expect(
      onlyLog(again)
        .map(({ type }) => type)
        .slice(5),
    ).toEqual(['MessageAppended', 'Truncated', 'MessageAppended'])
  })

  it('has an id that stays when the file grows', () => {
    const id = (messages: readonly RooMessage[]): unknown =>
      planOf({ text: JSON.stringify(messages), file: 'f' }).conversations[0]?.id
    expect(id(condensed)).toBe(id(condensed.slice(0, 2)))
  })

  it('shows what Roo Code sends, whatever the tags', () => {
    const anyTag = fc.option(fc.constantFrom('p', 'q', 'r', 's'), { nil: undefined, freq: 2 })
    const anyMessage = fc.record({
      kind: fc.nat(5),
      own: fc.constantFrom('p', 'q', 'r', 's'),
      condense: anyTag,
      truncate: anyTag,
    })
    fc.assert(
      fc.property(fc.array(anyMessage, { minLength: 1, maxLength: 14 }), (drafts) => {
        const owned = new Set<string>()
        const messages = drafts.map(({ kind, own, condense, truncate }, index): RooMessage => {
          // Each id is given once; tags name whatever there is, themselves and what comes earlier included.
          const tags = {
            ...(condense && { condenseParent: condense }),
            ...(!condense && truncate && { truncationParent: truncate }),
          }
          const key = `${kind === 0 ? 'c' : 't'}${own}`
          if (kind > 1 || owned.has(key)) return said(`m${index}`, index, tags)
          owned.add(key)
          return kind === 0 ? summary(`m${index}`, index, own, tags) : marker(`m${index}`, index, own, tags)
        })
        expect(shown(messages)).toEqual(effectiveOfRoo(messages))
      }),
      { numRuns: runs(1_000) },
    )
  })
})
