import { hash } from 'node:crypto'
import canonicalize from 'canonicalize'
import { jsonl } from './import-log.ts'

type Fields = Readonly<Record<string, unknown>>

/** A session as Claude Code 2.1.332 records it, in shape only: every text is made up, and the hashes are computed from these. */
export interface RecordedSession {
  /** Lines of the file, each with its newline. */
  readonly lines: readonly string[]
  /** Bodies of the requests that the file has a reply to, in order, without the fields that the file does not record. */
  readonly bodies: readonly Fields[]
  readonly betas: readonly string[]
}

const text = (value: string): Fields => ({ type: 'text', text: value })
const reminder = (value: string): string => `<system-reminder>\n${value}\n</system-reminder>`

const hashOf = ({ content, ...message }: Fields): string =>
  hash(
    'sha256',
    canonicalize({ ...message, content: typeof content === 'string' ? [text(content)] : content }) ?? '',
  )

const betas = ['first-beta', 'second-beta']
const ephemeral = { type: 'ephemeral' }
const system = [text('You are a made-up agent.'), text('Be brief.\nSay what you did.')]
const tools = ['Read', 'Run'].map((name) => ({
  name,
  description: `Made up: ${name}.`,
  input_schema: { type: 'object', properties: { what: { type: 'string' } } },
}))
const settings = { max_tokens: 1_000, thinking: { type: 'adaptive' }, output_config: { effort: 'medium' } }

/** Path of the breakpoint on a message's last block. */
const last = (messages: readonly Fields[]): readonly (string | number)[] => {
  const content = messages.at(-1)?.['content']
  return ['messages', messages.length - 1, 'content', Array.isArray(content) ? content.length - 1 : 0]
}

/** Returns the messages as they are sent, with the breakpoint on the last one: a string becomes a block to carry it. */
const marked = (messages: readonly Fields[]): readonly Fields[] =>
  messages.map((message, index) => {
    if (index < messages.length - 1) return message
    const { content } = message
    const blocks = typeof content === 'string' ? [text(content)] : (content as readonly Fields[])
    const at = blocks.length - 1
    return {
      ...message,
      content: blocks.map((block, n) => (n === at ? { ...block, cache_control: ephemeral } : block)),
    }
  })

export const recordedSession = (): RecordedSession => {
  const lines: string[] = []
  const bodies: Fields[] = []
  const sessionId = 'recorded'
  const add = (fields: Fields): void => void lines.push(jsonl({ sessionId, ...fields }))
  let parent: string | null = null
  let second = 0
  const entry = (uuid: string, fields: Fields, after = parent): void => {
    const timestamp = `2026-01-01T00:00:${String(second++).padStart(2, '0')}.000Z`
    add({ uuid, parentUuid: after, timestamp, version: '2.1.332', ...fields })
    parent = uuid
  }
  const user = (uuid: string, content: unknown, more: Fields = {}, after = parent): void =>
    entry(uuid, { type: 'user', message: { role: 'user', content }, ...more }, after)
  const attachment = (uuid: string, type: string, texts: readonly string[], renderedRole: string): void =>
    entry(uuid, {
      type: 'attachment',
      attachment: { type },
      rendered: texts.map((content) => ({ content: reminder(content) })),
      renderedRole,
    })
  const reply = (uuid: string, content: readonly Fields[], requestRef: string | undefined): void => {
    for (const [index, block] of content.entries())
      entry(index === 0 ? uuid : `${uuid}.${index}`, {
        type: 'assistant',
        requestId: `req-${uuid}`,
        ...(requestRef !== undefined && { requestRef }),
        message: { id: `m-${uuid}`, role: 'assistant', model: 'claude-made-up', content: [block] },
      })
  }
  const shapeHash = hash('sha256', 'shape')
  const written = new Set<string>()
  /** Records a request: the messages in `untold` by themselves, the others by their hashes. */
  const request = (
    id: string,
    messages: readonly Fields[],
    untold: readonly number[],
    more: {
      readonly base?: string
      readonly keep?: number
      readonly effort?: string
      readonly isFirst?: true
    } = {},
  ): void => {
    const { base, keep = 0, effort = 'medium', isFirst } = more
    if (isFirst) add({ type: 'api-request-shape', shapeHash, shape: { system, tools } })
    const sent = marked(messages)
    for (const index of untold) {
      const message = messages[index] as Fields
      const isLast = index === messages.length - 1
      // With a breakpoint, text is recorded as a block.
      const { content } = message
      const recorded =
        isLast && typeof content === 'string' ? { ...message, content: [text(content)] } : message
      if (written.has(hashOf(message))) continue
      written.add(hashOf(message))
      add({ type: 'api-request-blob', hash: hashOf(message), message: recorded })
    }
    const parameters = { ...settings, output_config: { effort } }
    add({
      type: 'api-request',
      id,
      shapeHash,
      params: { model: 'claude-made-up', betas, ...parameters },
      keep,
      ...(base !== undefined && { base }),
      tail: messages.slice(keep).map(hashOf),
      cacheControl: [
        { path: ['system', 1], value: ephemeral },
        { path: last(messages), value: ephemeral },
      ],
    })
    bodies.push({
      ...parameters,
      model: 'claude-made-up',
      system: system.map((block, index) => (index === 1 ? { ...block, cache_control: ephemeral } : block)),
      tools,
      messages: sent,
    })
  }

  // A prompt with attachments: some of them are sent in a system message, one before the prompt.
  const place = '# Place\nYou are in a folder.\n - It is made up.'
  const rules = 'Rules for commits:\n\nWrite a body.'
  const opening: Fields[] = [
    { role: 'user', content: [text(`${reminder(rules)}\n`), text('Look at the secret plan.')] },
    { role: 'system', content: `${place}\n\nToday is Monday.`, output_config: { effort: 'medium' } },
  ]
  user('u1', 'Look at the secret plan.')
  attachment('a1', 'environment', [place], 'system')
  attachment('a2', 'date', ['Today is Monday.'], 'system')
  attachment('a3', 'rules', [rules], 'user')
  request('r1', opening, [0, 1], { isFirst: true })
  reply('m1', [text('Which one?')], 'r1')

  // A new process: the whole list again. Two calls, whose results are joined.
  const calls = [
    { type: 'tool_use', id: 'c1', name: 'Read', input: { what: 'plan' } },
    { type: 'tool_use', id: 'c2', name: 'Run', input: { what: 'it' } },
  ]
  const results = [
    { tool_use_id: 'c2', type: 'tool_result', content: 'It ran.' },
    { tool_use_id: 'c1', type: 'tool_result', content: [text('The plan.\nIt is long.')], is_error: false },
  ]
  const asked: Fields[] = [
    ...opening,
    { role: 'assistant', content: [text('Which one?')] },
    { role: 'user', content: 'Both, please.' },
  ]
  user('u2', 'Both, please.')
  request('r2', asked, [])
  reply('m2', calls, 'r2')
  user('u3', [results[0]], {}, 'm2.1')
  user('u4', [results[1]], {}, 'm2')
  const answered: Fields[] = [
    ...asked,
    { role: 'assistant', content: calls },
    { role: 'user', content: results },
  ]
  // It fails once: nothing answers the first one.
  request('r3', answered, [], { base: 'r2', keep: 4 })
  bodies.pop()
  request('r4', answered, [], { base: 'r3', keep: 6 })
  reply('m3', [text('Done.')], 'r4')

  // A compaction with a kept message, and other settings. Its own request is not in the file.
  const summary = 'This is a summary.\nThe plan is done.'
  entry(
    'b1',
    {
      type: 'system',
      subtype: 'compact_boundary',
      logicalParentUuid: 'm3',
      compactMetadata: { trigger: 'manual', preservedMessages: { anchorUuid: 's1', uuids: ['m3'] } },
    },
    null,
  )
  user('s1', summary, { isCompactSummary: true })
  user('u5', 'And now?')
  attachment('a4', 'environment', [place], 'system')
  const after: Fields[] = [
    { role: 'user', content: summary },
    { role: 'system', content: [], output_config: { effort: 'high' } },
    { role: 'assistant', content: [text('Done.')] },
    { role: 'user', content: 'And now?' },
    { role: 'system', content: place },
  ]
  request('r5', after, [0, 1, 2, 3, 4], { effort: 'high' })
  reply('m4', [text('Nothing.')], 'r5')

  // A reply whose request is not in the file.
  user('u6', 'Thanks.')
  reply('m5', [text('Any time.')], undefined)
  return { lines, bodies, betas }
}
