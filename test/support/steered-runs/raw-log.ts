import type { EventStore } from '../../../src/store/port.ts'

// Reads what is stored as the JSON that it is. Shares no code with what wrote it.

export interface Raw {
  readonly position: number
  readonly id: string
  readonly type: string
  readonly data: Readonly<Record<string, unknown>>
  readonly metadata: {
    readonly time: string
    readonly commandId: string
    readonly actor: { readonly kind: string; readonly id?: string }
  }
}

/** A block of a message. */
export type Block = { readonly type: string } & Readonly<Record<string, unknown>>

export const rawStream = async (store: EventStore, stream: string): Promise<readonly Raw[]> => {
  const all: Raw[] = []
  for (;;) {
    const page = await store.read({ stream, from: all.length, direction: 'forwards', limit: 1_000 })()
    if (page._tag === 'Left') throw new Error(page.left.message)
    if (page.right.length === 0) return all
    for (const { id, type, data, metadata, revision } of page.right)
      all.push({ position: revision, id, type, data: JSON.parse(data), metadata: JSON.parse(metadata) })
  }
}

/** The log of a conversation, with what a fork has of its parent; the index of an event is its position. */
export const rawLog = async (store: EventStore, conversation: string): Promise<readonly Raw[]> => {
  const own = await rawStream(store, `conversation-${conversation}`)
  const from = own[0]?.type === 'Forked' ? (own[0].data['from'] as Fork) : undefined
  if (!from) return own
  const before = (await rawLog(store, from.conversation)).slice(0, from.position + 1)
  return [...before, ...own.map((event, index) => ({ ...event, position: before.length + index }))]
}
interface Fork {
  readonly conversation: string
  readonly position: number
}

/** The positions on the path right after each event. */
export const rawPaths = (log: readonly Raw[]): readonly (readonly number[])[] => {
  const paths: (readonly number[])[] = []
  for (const { type, data, position } of log) {
    const to = Number(data['to'])
    paths.push(type === 'Rewound' ? (paths[to] ?? []) : [...(paths[position - 1] ?? []), position])
  }
  return paths
}

export const blocksIn = ({ type, data }: Raw): readonly Block[] =>
  type === 'MessageAppended' ? (data['content'] as readonly Block[]) : []

export const isAssistant = ({ type, data }: Raw): boolean =>
  type === 'MessageAppended' && data['role'] === 'assistant'

/** What was said in an event, by its number: `said-N.` */
export const saidIn = (blocks: readonly Block[] | string): readonly number[] => {
  const texts =
    typeof blocks === 'string' ? [blocks] : blocks.map(({ text }) => (typeof text === 'string' ? text : ''))
  return texts.flatMap((text) => [...text.matchAll(/said-(\d+)\./g)].map(([, n]) => Number(n)))
}
