import { isMarker } from '../../../events/event-traits.ts'
import { type Actor, type ConversationEvent, contentOf, type Origin } from '../../../events/events.ts'
import { type Effective, sliceOf } from '../../../projections/effective.ts'
import { type Log, parent } from '../../../projections/path.ts'
import type { WithheldHashes } from '../vcon/trace.ts'
import { historiesOf } from './histories.ts'

// W3C PROV (PROV-O) as JSON-LD. docs/interchange.md describes the mapping.

const context = {
  prov: 'http://www.w3.org/ns/prov#',
  xsd: 'http://www.w3.org/2001/XMLSchema#',
  palimpsest: 'urn:palimpsest:',
  ...Object.fromEntries(
    [
      'used',
      'wasGeneratedBy',
      'wasDerivedFrom',
      'wasAttributedTo',
      'wasAssociatedWith',
      'wasInvalidatedBy',
    ].map((name) => [name, { '@id': `prov:${name}`, '@type': '@id' }]),
  ),
  generatedAtTime: { '@id': 'prov:generatedAtTime', '@type': 'xsd:dateTime' },
  invalidatedAtTime: { '@id': 'prov:invalidatedAtTime', '@type': 'xsd:dateTime' },
  endedAtTime: { '@id': 'prov:endedAtTime', '@type': 'xsd:dateTime' },
  content: { '@id': 'palimpsest:content', '@type': '@json' },
  role: 'palimpsest:role',
  hash: 'palimpsest:hash',
  requestDigest: 'palimpsest:requestDigest',
  name: 'palimpsest:name',
  reason: 'palimpsest:reason',
}

type Node = Readonly<Record<string, unknown>>

/**
 * Yields a conversation as a provenance graph: messages and summaries are entities; calls, condenses and erasures are activities;
 * people, programs and models are agents. Withheld content is an entity with only its hash; erased content was invalidated.
 */
export function* prov(
  log: Log,
  conversation: string,
  withheld: WithheldHashes = new Map(),
): Generator<string> {
  yield `{"@context":${JSON.stringify(context)},\n"@graph":[`
  const agents = new Map<string, Node>()
  const graph = graphOf(log, namesIn(log, conversation), erasuresIn(log, withheld))
  let separator = '\n'
  for (const event of log) {
    const hash = withheld.get(event.position)
    const nodes = hash === undefined ? graph.nodes(event) : [graph.closed(event.position, hash)]
    const unseen = hash === undefined ? agentsOf(event).filter(({ '@id': id }) => !agents.has(id)) : []
    for (const agent of unseen) agents.set(agent['@id'], agent)
    for (const node of [...unseen, ...nodes]) {
      yield `${separator}${JSON.stringify(node)}`
      separator = ',\n'
    }
  }
  yield '\n]}\n'
}

/**
 * Returns a function that names events after the conversation in which they were written, so that a fork and its parent use the same
 * names for the events they share.
 */
const namesIn = (log: Log, conversation: string): ((position: number) => string) => {
  const owners: string[] = []
  let owner = conversation
  for (const event of log.toReversed()) {
    owners[event.position] = owner
    if (event.type === 'Forked') owner = event.data.from.conversation
  }
  return (position) => `palimpsest:conversation:${owners[position] ?? conversation}/${position}`
}

/**
 * Returns the position of the `Erased` event that records the erasure of each event, by position. What was erased in the conversation
 * from which this one was forked has none here.
 */
const erasuresIn = (log: Log, withheld: WithheldHashes): ReadonlyMap<number, number> => {
  const erasures = new Map<number, number>()
  for (const { type, position, data } of log)
    if (type === 'Erased' && !withheld.has(position))
      for (const { first, last } of data.events?.ranges ?? [])
        for (let at = first; at <= last && at < position; at++)
          if (!erasures.has(at)) erasures.set(at, position)
  return erasures
}

const graphOf = (log: Log, nameOf: (position: number) => string, erasures: ReadonlyMap<number, number>) => {
  const shownAt = historiesOf(log)
  /** Positions of the replies that contain a tool call, by the id of the call. Several branches may contain the same call. */
  const calls = new Map<string, Set<number>>()
  const calledAt = (id: string, position: number): number | undefined => {
    const replies = calls.get(id)
    let at = replies ? parent(log, position) : -1
    while (at >= 0 && !replies?.has(at)) at = parent(log, at)
    return at >= 0 ? at : undefined
  }

  const message = (event: ConversationEvent<'MessageAppended'>): readonly Node[] => {
    const { role, origin } = event.data
    const content = contentOf(event)[0]?.content ?? []
    const name = nameOf(event.position)
    const answered = content
      .flatMap((block) => idsIn(block, 'tool_use_id'))
      .flatMap((id) => calledAt(id, event.position) ?? [])
    if (role === 'assistant')
      for (const id of content.flatMap((block) => idsIn(block, 'id')))
        calls.set(id, (calls.get(id) ?? new Set()).add(event.position))
    const from = derived([...new Set(answered)].map(nameOf))
    const entity = { ...entityOf(event, 'Message'), role, content, ...from }
    if (role !== 'assistant') return [entity]
    const before = shownAt(origin?.context?.position ?? event.position - 1)
    const used = [...before.items.map(({ position }) => position), ...configuredIn(before)]
    return [activity(event, 'Call', used, origin), { ...entity, wasGeneratedBy: `${name}/call` }]
  }

  /** Returns the nodes of a marker. A truncation is an entity as well, because it is shown as a line that says how much is missing. */
  const marker = (event: ConversationEvent<'Condensed' | 'Truncated'>): readonly Node[] => {
    const of = sliceOf(shownAt(event.position - 1), event.data.covers).map(({ position }) => position)
    const from = derived(of.map(nameOf))
    if (event.type === 'Truncated') return [{ ...entityOf(event, 'Truncation'), ...from }]
    const made = { content: contentOf(event), wasGeneratedBy: `${nameOf(event.position)}/condense` }
    return [
      activity(event, 'Condense', of, event.data.origin),
      { ...entityOf(event, 'Summary'), ...made, ...from },
    ]
  }

  const entityOf = (event: ConversationEvent, type: string) => ({
    '@id': nameOf(event.position),
    '@type': ['prov:Entity', `palimpsest:${type}`],
    generatedAtTime: event.metadata.time,
    wasAttributedTo: authorsOf(event),
    ...invalidated(event),
  })

  const invalidated = ({ position, metadata }: ConversationEvent): Node => {
    const by = erasures.get(position)
    if (!metadata.erased) return {}
    const time = { invalidatedAtTime: metadata.erased.time }
    return by === undefined ? time : { ...time, wasInvalidatedBy: `${nameOf(by)}/erase` }
  }

  const activity = (
    event: ConversationEvent,
    type: 'Call' | 'Condense' | 'Erase',
    used: readonly number[],
    origin: Origin | undefined,
  ): Node => ({
    '@id': `${nameOf(event.position)}/${type.toLowerCase()}`,
    '@type': ['prov:Activity', `palimpsest:${type}`],
    endedAtTime: event.metadata.time,
    used: used.map(nameOf),
    wasAssociatedWith: agentsOf(event).map((agent) => agent['@id']),
    ...(origin?.context && { requestDigest: origin.context.digest }),
  })

  return {
    nodes: (event: ConversationEvent): readonly Node[] => {
      if (event.type === 'MessageAppended') return message(event)
      if (isMarker(event)) return marker(event)
      if (event.type === 'Erased') {
        const { reason } = event.data
        return [{ ...activity(event, 'Erase', [], undefined), ...(reason !== undefined && { reason }) }]
      }
      if (event.type !== 'Configured') return []
      return [{ ...entityOf(event, 'Configuration'), content: event.data }]
    },
    closed: (position: number, hash: string): Node => ({
      '@id': nameOf(position),
      '@type': ['prov:Entity', 'palimpsest:Withheld'],
      hash,
    }),
  }
}

const derived = (names: readonly string[]): Node => (names.length > 0 ? { wasDerivedFrom: names } : {})

const configuredIn = ({ layout: { configured, toolsFrom } }: Effective): readonly number[] =>
  [
    ...new Set([configured, toolsFrom].filter((position) => position !== undefined && position >= 0)),
  ] as readonly number[]

/** Returns a list with the id in a block's field; empty if the block has no such field. */
const idsIn = (block: object, field: string): readonly string[] => {
  const id: unknown = Reflect.get(block, field)
  return typeof id === 'string' ? [id] : []
}

interface Agent extends Node {
  readonly '@id': string
}

/**
 * Returns the actor that wrote an event and, if the event names one, the model that produced it or the person who had content erased.
 */
const agentsOf = (event: ConversationEvent): readonly Agent[] => {
  const writer = agentOf(event.metadata.actor)
  if (event.type === 'Erased') {
    const { by } = event.data
    const person = by === undefined ? writer : agentOf({ kind: 'user', id: by })
    return person['@id'] === writer['@id'] ? [writer] : [writer, person]
  }
  const model = modelOf(event)
  if (model === undefined) return [writer]
  return [
    writer,
    {
      '@id': `palimpsest:model:${encodeURIComponent(model.toWellFormed())}`,
      '@type': ['prov:Agent', 'prov:SoftwareAgent', 'palimpsest:Model'],
      name: model,
    },
  ]
}

const agentOf = ({ kind, id }: Actor): Agent => {
  const name = [kind, ...(id === undefined ? [] : [id])]
    .map((part) => encodeURIComponent(part.toWellFormed()))
    .join('/')
  const type = kind === 'user' ? 'prov:Person' : 'prov:SoftwareAgent'
  return { '@id': `palimpsest:actor:${name}`, '@type': ['prov:Agent', type], name: id ?? kind }
}

/** Returns the author of an event. The author of a reply is the model, regardless of who recorded the reply. */
const authorsOf = (event: ConversationEvent): string | undefined => agentsOf(event).at(-1)?.['@id']

const modelOf = (event: ConversationEvent): string | undefined =>
  event.type === 'MessageAppended' || event.type === 'Condensed' ? event.data.origin?.model : undefined
