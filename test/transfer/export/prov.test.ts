import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Event } from '../../../src/events/events.ts'
import { prov } from '../../../src/transfer/formats/prov/prov.ts'
import { effective, sliceOf } from '../../../src/projections/effective.ts'
import type { Log } from '../../../src/projections/path.ts'
import { histories, rawLogs } from '../../support/histories.ts'
import {
  assistant,
  condensed,
  configured,
  logOf,
  rewound,
  toolResult,
  toolUse,
  user,
} from '../../support/log.ts'
import { runs } from '../../support/runs.ts'

const own = { from: { conversation: 'c', position: 0, hash: '0' } }

interface Node {
  readonly '@id': string
  readonly '@type': readonly string[]
  readonly [name: string]: unknown
}
interface Graph {
  readonly '@context': Readonly<Record<string, unknown>>
  readonly '@graph': readonly Node[]
}
const graphOf = (log: Log, withheld?: ReadonlyMap<number, string>): ReadonlyMap<string, Node> => {
  const { '@context': context, '@graph': nodes } = JSON.parse([...prov(log, 'c', withheld)].join('')) as Graph
  // Every field is a term of the context: one that is not would be dropped by whoever reads JSON-LD.
  for (const node of nodes)
    for (const name of Object.keys(node))
      expect(name.startsWith('@') || Object.hasOwn(context, name)).toBe(true)
  const graph = new Map(nodes.map((node) => [node['@id'], node]))
  expect(graph.size).toBe(nodes.length)
  return graph
}
const at = (position: number): string => `palimpsest:conversation:c/${position}`

describe('a PROV graph', () => {
  it('has a call, which used the items that the model was shown, and generated the reply', () => {
    const log = logOf(
      configured({ system: 'Be brief.' }),
      user('one'),
      user('left'),
      rewound(1),
      assistant([toolUse('a')], { model: 'm 1' }),
      user([toolResult('a')]),
    )
    const graph = graphOf(log)
    expect(graph.get(at(4))).toMatchObject({
      '@type': ['prov:Entity', 'palimpsest:Message'],
      wasGeneratedBy: `${at(4)}/call`,
      wasAttributedTo: 'palimpsest:model:m%201',
    })
    expect(graph.get(`${at(4)}/call`)).toMatchObject({
      '@type': ['prov:Activity', 'palimpsest:Call'],
      used: [at(1), at(0)],
      wasAssociatedWith: ['palimpsest:actor:test', 'palimpsest:model:m%201'],
    })
    expect(graph.get(at(5))).toMatchObject({
      wasDerivedFrom: [at(4)],
      wasAttributedTo: 'palimpsest:actor:test',
    })
    expect(graph.get('palimpsest:model:m%201')?.['@type']).toContain('prov:SoftwareAgent')
  })

  it('derives a summary from what it covers', () => {
    const graph = graphOf(
      logOf(user('one'), assistant('two'), user('three'), condensed(0, 1), condensed(3, 2)),
    )
    expect(graph.get(at(3))).toMatchObject({
      wasDerivedFrom: [at(0), at(1)],
      wasGeneratedBy: `${at(3)}/condense`,
    })
    expect(graph.get(`${at(3)}/condense`)).toMatchObject({ used: [at(0), at(1)] })
    expect(graph.get(at(4))).toMatchObject({ wasDerivedFrom: [at(3), at(2)] })
  })

  it('derives a result from the reply on its own branch, where another one has a call of the same id', () => {
    const uses = (): Event => assistant([toolUse('a')])
    const graph = graphOf(logOf(user('one'), uses(), rewound(0), uses(), rewound(1), user([toolResult('a')])))
    expect(graph.get(at(5))?.['wasDerivedFrom']).toEqual([at(1)])
  })

  it('names a model whose name is malformed', () => {
    const graph = graphOf(logOf(user('one'), assistant('two', { model: 'm\ud800' })))
    expect(graph.get(at(1))?.['wasAttributedTo']).toBe(`palimpsest:model:m${encodeURIComponent('\ufffd')}`)
  })

  it('names what a fork inherited as the conversation does that it was written in', () => {
    const from = (conversation: string, position: number): Event => ({
      type: 'Forked',
      data: { from: { conversation, position, hash: '0' } },
    })
    const graph = graphOf(logOf(user('one'), from('a', 0), user('two'), from('b', 2), user('three')))
    expect([...graph.keys()].filter((id) => id.includes('conversation:'))).toEqual([
      'palimpsest:conversation:a/0',
      'palimpsest:conversation:b/2',
      'palimpsest:conversation:c/4',
    ])
  })

  it('has of what is withheld the hash, and who used it', () => {
    const log = logOf(user('SECRET'), assistant('two', { model: 'm' }), assistant('HIDDEN', { model: 'h' }))
    const graph = graphOf(
      log,
      new Map([
        [0, 'f'],
        [2, 'e'],
      ]),
    )
    expect(JSON.stringify([...graph.values()])).not.toMatch(/SECRET|HIDDEN|"h"|event-0/)
    expect(graph.get(at(0))).toEqual({
      '@id': at(0),
      '@type': ['prov:Entity', 'palimpsest:Withheld'],
      hash: 'f',
    })
    expect(graph.get(`${at(1)}/call`)?.['used']).toEqual([at(0)])
    expect(graph.has(`${at(2)}/call`)).toBe(false)
  })

  it.each([
    ['that commands write', histories(), 40],
    ['of any events', rawLogs(), 40],
  ] as const)(
    'says of every reply and summary what the history was then, and refers to what is there: logs %s',
    (_, logs, numRuns) => {
      fc.assert(
        fc.property(logs, (log) => {
          // Whichever conversation each was written in.
          const alone = log.map((event) => (event.type === 'Forked' ? { ...event, data: own } : event))
          const graph = graphOf(alone)
          for (const event of log) {
            const before = effective(log, event.position - 1)
            if (event.type === 'Condensed')
              expect(graph.get(`${at(event.position)}/condense`)?.['used']).toEqual(
                sliceOf(before, event.data.covers).map(({ position }) => at(position)),
              )
            if (event.type !== 'MessageAppended' || event.data.role !== 'assistant') continue
            const { items } = effective(log, event.data.origin?.context?.position ?? event.position - 1)
            const used = graph.get(`${at(event.position)}/call`)?.['used'] as readonly string[]
            expect(used.slice(0, items.length)).toEqual(items.map(({ position }) => at(position)))
          }
          for (const { '@type': types, ...node } of graph.values())
            for (const name of [
              'used',
              'wasGeneratedBy',
              'wasDerivedFrom',
              'wasAttributedTo',
              'wasAssociatedWith',
            ])
              for (const id of [(node[name] ?? []) as string | readonly string[]].flat())
                expect([types, name, id, graph.has(id)]).toEqual([types, name, id, true])
        }),
        { numRuns: runs(numRuns) },
      )
    },
  )
})
