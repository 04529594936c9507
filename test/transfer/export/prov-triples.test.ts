import * as fc from 'fast-check'
import jsonld from 'jsonld'
import { expect, it } from 'vitest'
import type { ConversationEvent } from '../../../src/events/events.ts'
import { type Conversation, openStore } from '../../../src/index.ts'
import { prov } from '../../../src/transfer/formats/prov/prov.ts'
import type { Log } from '../../../src/projections/path.ts'
import { atEnd } from '../../support/at-end.ts'
import { histories, rawLogs } from '../../support/histories.ts'
import {
  assistant,
  condensed,
  configured,
  logOf,
  toolResult,
  toolUse,
  truncated,
  user,
} from '../../support/log.ts'
import { runs } from '../../support/runs.ts'

// The export as a JSON-LD processor that is not ours reads it, without a network.

const PROV = 'http://www.w3.org/ns/prov#'
const rdfType = 'http://www.w3.org/1999/02/22-rdf-syntax-ns#type'
const dateTime = 'http://www.w3.org/2001/XMLSchema#dateTime'

/** Of each property in PROV-O (W3C Recommendation of 30 April 2013) that the export has: what it is of, and what its values are. */
const properties: Readonly<Record<string, readonly [domain: string, range: string]>> = {
  used: ['Activity', 'Entity'],
  wasGeneratedBy: ['Entity', 'Activity'],
  wasDerivedFrom: ['Entity', 'Entity'],
  wasAttributedTo: ['Entity', 'Agent'],
  wasAssociatedWith: ['Activity', 'Agent'],
  generatedAtTime: ['Entity', dateTime],
  wasInvalidatedBy: ['Entity', 'Activity'],
  invalidatedAtTime: ['Entity', dateTime],
  endedAtTime: ['Activity', dateTime],
}
const classes = ['Entity', 'Activity', 'Agent', 'Person', 'SoftwareAgent']

const triplesOf = async (log: Log) => {
  const documentLoader = (url: string): never => {
    throw new Error(`asks for ${url}`)
  }
  const document: unknown = JSON.parse([...prov(log, 'c')].join(''))
  const quads = await jsonld.toRDF(document, { safe: true, documentLoader })
  return quads.map(({ subject, predicate, object }) => ({
    subject: subject.value,
    predicate: predicate.value,
    object: object.value,
    kind: object.termType === 'Literal' ? (object.datatype?.value ?? '') : object.termType,
  }))
}

const logIn = async (chat: Conversation): Promise<Log> => {
  const log: ConversationEvent[] = []
  for await (const event of chat.events()) log.push(event)
  return log
}

const at = (position: number): string => `urn:palimpsest:conversation:c/${position}`

it('a call, its reply and a summary are triples of PROV-O', async () => {
  const log = logOf(
    configured({ system: 'Be brief.' }),
    user('one'),
    assistant([toolUse('a')], { model: 'm 1' }),
    user([toolResult('a')]),
    truncated(1, 2),
    condensed(3, 4),
  )
  const triples = await triplesOf(log)
  const said = triples.map(({ subject, predicate, object }) => [subject, predicate, object])
  for (const [subject, name, object] of [
    [`${at(2)}/call`, 'used', at(1)],
    [`${at(2)}/call`, 'used', at(0)],
    [`${at(2)}/call`, 'wasAssociatedWith', 'urn:palimpsest:model:m%201'],
    [at(2), 'wasGeneratedBy', `${at(2)}/call`],
    [at(2), 'wasAttributedTo', 'urn:palimpsest:model:m%201'],
    [at(3), 'wasDerivedFrom', at(2)],
    [at(5), 'wasGeneratedBy', `${at(5)}/condense`],
  ])
    expect(said).toContainEqual([subject, `${PROV}${name}`, object])
  expect(said).toContainEqual([`${at(2)}/call`, rdfType, `${PROV}Activity`])
  expect(said).toContainEqual([at(2), rdfType, `${PROV}Entity`])
  expect(said).toContainEqual(['urn:palimpsest:model:m%201', rdfType, `${PROV}SoftwareAgent`])
  const content = triples.find(
    ({ subject, predicate }) => subject === at(1) && predicate === 'urn:palimpsest:content',
  )
  expect(JSON.parse(content?.object ?? '')).toEqual([{ type: 'text', text: 'one' }])
})

it('an erasure is an activity of who asked for it, which invalidated what it erased', async () => {
  const store = await openStore('memory:', { actor: { kind: 'program' } })
  atEnd(store.close)
  const chat = store.conversation('c')
  await chat.append(['SECRET', 'two', 'HIDDEN'].map((content) => ({ role: 'user', content })))
  await chat.erase({ positions: [0, 2], by: 'ann', reason: 'request 17' })
  const fork = await chat.fork('fork', { at: 2 })
  const triples = await triplesOf(await logIn(chat))
  const said = triples.map(({ subject, predicate, object }) => [subject, predicate, object])
  const time = (await logIn(chat)).at(-1)?.metadata.time
  for (const [subject, name, object] of [
    [at(0), 'wasInvalidatedBy', `${at(3)}/erase`],
    [at(0), 'invalidatedAtTime', time],
    [at(2), 'wasInvalidatedBy', `${at(3)}/erase`],
    [`${at(3)}/erase`, 'endedAtTime', time],
    [`${at(3)}/erase`, 'wasAssociatedWith', 'urn:palimpsest:actor:program'],
    [`${at(3)}/erase`, 'wasAssociatedWith', 'urn:palimpsest:actor:user/ann'],
  ])
    expect(said).toContainEqual([subject, `${PROV}${name}`, object])
  expect(said).toContainEqual([`${at(3)}/erase`, rdfType, `${PROV}Activity`])
  expect(said).toContainEqual(['urn:palimpsest:actor:user/ann', rdfType, `${PROV}Person`])
  expect(said).toContainEqual([`${at(3)}/erase`, 'urn:palimpsest:reason', 'request 17'])
  expect(said.filter(([subject, name]) => subject === at(1) && name?.includes('nvalidated'))).toEqual([])
  expect(JSON.stringify(triples)).not.toMatch(/SECRET|HIDDEN/)
  // The record of the erasure is in the conversation from which it was forked.
  const shared = await triplesOf(await logIn(fork))
  const predicates = shared.filter(({ subject }) => subject === at(0)).map(({ predicate }) => predicate)
  expect(predicates).toContain(`${PROV}invalidatedAtTime`)
  expect(predicates).not.toContain(`${PROV}wasInvalidatedBy`)
})

it('every property is one of PROV-O, between things of the classes that it is for', async () => {
  await fc.assert(
    fc.asyncProperty(fc.oneof(histories(), rawLogs()), async (log) => {
      const triples = await triplesOf(log)
      const types = new Map<string, Set<string>>()
      for (const { subject, predicate, object } of triples)
        if (predicate === rdfType) types.set(subject, (types.get(subject) ?? new Set()).add(object))
      for (const { subject, predicate, object, kind } of triples) {
        expect(subject).toMatch(/^urn:palimpsest:/)
        if (predicate === rdfType && object.startsWith(PROV))
          expect(classes).toContain(object.slice(PROV.length))
        if (!predicate.startsWith(PROV)) continue
        const name = predicate.slice(PROV.length)
        const [domain, range] = properties[name] ?? []
        expect([name, domain && types.get(subject)?.has(PROV + domain)]).toEqual([name, true])
        if (range === dateTime) {
          expect([kind, Number.isNaN(Date.parse(object))]).toEqual([dateTime, false])
        } else
          expect([name, kind, types.get(object)?.has(`${PROV}${range}`)]).toEqual([name, 'NamedNode', true])
      }
    }),
    { numRuns: runs(30) },
  )
})
