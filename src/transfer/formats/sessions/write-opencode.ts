import { createHash } from 'node:crypto'
import { type Block, isBlock } from '../../../events/blocks.ts'
import { isThinking } from '../../../projections/render/renderer.ts'
import { asUserMessage } from './as-user-message.ts'
import { absentPart, partOf, resultParts } from './block-parts.ts'
import type { ViewBlock, ViewMessage } from './session-view.ts'
import { type Lose, lossesOf } from './session-loss.ts'
import type { SessionTarget, WriteSession } from './session-writer.ts'

/** Writes a view as an export of opencode, which `opencode import` reads. */
export const writeOpencode: WriteSession = (view, target) => ({
  way: 'rendered',
  id: sessionIdOf(target.id),
  path: `${sessionIdOf(target.id)}.json`,
  lines: pieces(view.messages, target),
  lost: [...view.lost, ...lossesOf((lose) => messagesOf(view.messages, target, lose))],
})

/** Returns the id under which opencode knows the session. */
const sessionIdOf = (id: string): string => `ses_${id.replaceAll('-', '').slice(0, 26)}`

function* pieces(messages: readonly ViewMessage[], target: SessionTarget): Generator<string> {
  const { id, cwd, time } = target
  const at = Date.parse(time)
  const info = {
    id: sessionIdOf(id),
    slug: 'palimpsest',
    projectID: 'global',
    directory: cwd,
    path: '',
    title: `Continued by Palimpsest ${time}`,
    version: '0.0.0',
    time: { created: at, updated: at },
  }
  yield `{"info":${JSON.stringify(info)},"messages":[`
  let separator = '\n'
  for (const message of messagesOf(messages, target, () => undefined)) {
    yield separator + JSON.stringify(message)
    separator = ',\n'
  }
  yield '\n]}\n'
}

/** Yields the messages of opencode. The results of calls are parts of the reply that made them. */
function* messagesOf(messages: readonly ViewMessage[], target: SessionTarget, lose: Lose): Generator<object> {
  const { id, cwd } = target
  const sessionID = sessionIdOf(id)
  // The client sorts by id, so ids ascend.
  let count = 0
  const nextId = (prefix: string): string =>
    `${prefix}_${(++count).toString(16).padStart(12, '0')}${createHash('sha256').update(`${id} ${count}`).digest('hex').slice(0, 14)}`
  const results = resultsIn(messages)
  // The client continues with the model of the last prompt.
  const lastModel = messages.findLast(({ model }) => model !== undefined)?.model ?? 'unknown'
  let parentID = ''
  for (const given of messages) {
    const { role, blocks, time, model = lastModel } = asUserMessage(given, lose)
    const at = Date.parse(time)
    const spoken = blocks.filter(({ block }) => !isBlock(block, 'tool_result'))
    if (spoken.length === 0) continue
    const messageID = nextId('msg')
    const parts = spoken.flatMap((each) =>
      partsOf(each, { at, results, lose }).map((part) => ({
        id: nextId('prt'),
        sessionID,
        messageID,
        ...part,
      })),
    )
    if (parts.length === 0) continue
    if (role === 'user') {
      parentID = messageID
      const info = { id: messageID, sessionID, role, time: { created: at }, agent: 'build' }
      yield { info: { ...info, model: { providerID: 'anthropic', modelID: model } }, parts }
    } else
      yield {
        info: {
          id: messageID,
          sessionID,
          role,
          parentID,
          time: { created: at, completed: at },
          modelID: model,
          providerID: 'anthropic',
          mode: 'build',
          agent: 'build',
          path: { cwd, root: cwd },
          cost: 0,
          tokens: { input: 0, output: 0, reasoning: 0, cache: { read: 0, write: 0 } },
          finish: blocks.some(({ block }) => isBlock(block, 'tool_use')) ? 'tool-calls' : 'stop',
        },
        parts,
      }
  }
}

type Results = ReadonlyMap<string, ViewBlock>

const resultsIn = (messages: readonly ViewMessage[]): Results =>
  new Map(
    messages.flatMap(({ blocks }) =>
      blocks.flatMap((each) =>
        isBlock(each.block, 'tool_result') ? [[each.block.tool_use_id, each] as const] : [],
      ),
    ),
  )

interface PartContext {
  readonly at: number
  readonly results: Results
  readonly lose: Lose
}

const partsOf = ({ block, position }: ViewBlock, { at, results, lose }: PartContext): readonly object[] => {
  if (isBlock(block, 'tool_use')) return [toolPart(block, results.get(block.id), at, lose)]
  if (isThinking(block)) {
    lose('thinking', position, 'thinking: opencode shows it to other models as text')
    return []
  }
  const part = partOf(block)
  if (part.kind === 'text') return [{ type: 'text', text: part.text }]
  if (part.kind === 'image') return [filePart(part.mediaType, part.data)]
  const { detail, text } = absentPart(part.kind === 'other' ? part.type : part.kind, 'opencode')
  lose('media', position, detail)
  return [{ type: 'text', text }]
}

const filePart = (mime: string, data: string): object => ({
  type: 'file',
  mime,
  filename: 'image',
  url: `data:${mime};base64,${data}`,
})

const toolPart = (
  { id, name, input }: Block & { readonly id: string; readonly name: string; readonly input: unknown },
  result: ViewBlock | undefined,
  at: number,
  lose: Lose,
): object => {
  const answer = result && isBlock(result.block, 'tool_result') ? result.block : undefined
  const texts: string[] = []
  for (const part of resultParts(answer?.content ?? ''))
    if (part.kind === 'text') texts.push(part.text)
    else {
      const { detail, text } = absentPart(part.kind === 'other' ? part.type : part.kind, 'opencode')
      lose('media', result?.position ?? 0, detail)
      texts.push(text)
    }
  const output = texts.join('\n')
  const time = { start: at, end: at }
  const state =
    answer?.is_error === true
      ? { status: 'error', input, error: output, time }
      : { status: 'completed', input, output, title: name, metadata: {}, time }
  return { type: 'tool', callID: id, tool: name, state }
}
