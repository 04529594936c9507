import { isMarker } from '../../../events/event-traits.ts'
import { type ConversationEvent, contentOf, type Origin } from '../../../events/events.ts'
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
    ['used', 'wasGeneratedBy', 'wasDerivedFrom', 'wasAttributedTo', 'wasAssociatedWith'].map((name) => [
      name,
      { '@id': `prov:${name}`, '@type': '@id' },
    ]),
  ),
  generatedAtTime: { '@id': 'prov:generatedAtTime', '@type': 'xsd:dateTime' },
  endedAtTime: { '@id': 'prov:endedAtTime', '@type': 'xsd:dateTime' },
  content: { '@id': 'palimpsest:content', '@type': '@json' },
  role: 'palimpsest:role',
  hash: 'palimpsest:hash',
  requestDigest: 'palimpsest:requestDigest',
  name: 'palimpsest:name',
}

type Node = Readonly<Record<string, unknown>>

/**
 * Yields a conversation as a provenance graph: messages and summaries are entities; calls and condenses are activities; people,
 * programs and models are agents. Withheld content is an entity with only its hash.
 */
export function* prov(
  log: Log,
  conversation: string,
  withheld: WithheldHashes = new Map(),
): Generator<string> {
  yield `{"@context":${JSON.stringify(context)},\n"@graph":[`
  const agents = new Map<string, Node>()
  const graph = graphOf(log, namesIn(log, conversation))
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

const graphOf = (log: Log, nameOf: (position: number) => string) => {
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
  })

  const activity = (
    event: ConversationEvent,
    type: 'Call' | 'Condense',
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

/** Returns the actor that wrote an event and, if the event names one, the model that produced it. */
const agentsOf = (event: ConversationEvent): readonly Agent[] => {
  const { kind, id } = event.metadata.actor
  const name = [kind, ...(id === undefined ? [] : [id])]
    .map((part) => encodeURIComponent(part.toWellFormed()))
    .join('/')
  const type = kind === 'user' ? 'prov:Person' : 'prov:SoftwareAgent'
  const writer = { '@id': `palimpsest:actor:${name}`, '@type': ['prov:Agent', type], name: id ?? kind }
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

/** Returns the author of an event. The author of a reply is the model, regardless of who recorded the reply. */
const authorsOf = (event: ConversationEvent): string | undefined => agentsOf(event).at(-1)?.['@id']

const modelOf = (event: ConversationEvent): string | undefined =>
  event.type === 'MessageAppended' || event.type === 'Condensed' ? event.data.origin?.model : undefined
