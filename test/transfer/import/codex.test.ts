import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type AnyBlock, textBlock } from '../../../src/events/blocks.ts'
import { effective } from '../../../src/projections/effective.ts'
import type { Log } from '../../../src/projections/path.ts'
import { render } from '../../../src/projections/render/render.ts'
import type { ImportAction } from '../../../src/transfer/formats/plan.ts'
import { importFile, jsonl, onlyLog, planOf } from '../../support/import-log.ts'
import { violations } from '../../support/predicates.ts'
import { runs } from '../../support/runs.ts'
import { atEnd } from '../../support/at-end.ts'
import { openStore } from '../../../src/index.ts'

interface Fields {
  readonly [field: string]: unknown
}
const timestamp = '2026-06-01T08:00:00.000Z'
const line = (type: string, payload: Fields): Fields => ({ timestamp, type, payload })
const item = (payload: Fields): Fields => line('response_item', payload)
const says = (role: string, text: string): Fields => ({
  type: 'message',
  role,
  content: [{ type: role === 'assistant' ? 'output_text' : 'input_text', text }],
})
const meta = line('session_meta', { id: 'c', cwd: '/', base_instructions: { text: 'Be brief.' } })
const rolledBack = (count: number): Fields =>
  line('event_msg', { type: 'thread_rolled_back', num_turns: count })
const compacted = (...items: readonly Fields[]): Fields =>
  line('compacted', { message: '', replacement_history: items })

const logOf = (...lines: readonly Fields[]): Log =>
  onlyLog(importFile({ text: jsonl(meta, ...lines), file: 'f' }))
const actionsOf = (...lines: readonly Fields[]): readonly ImportAction[] =>
  planOf({ text: jsonl(meta, ...lines), file: 'f' }).conversations.flatMap(({ actions }) => [...actions])
const blocksIn = (log: Log): readonly AnyBlock[] =>
  effective(log).items.flatMap((each) =>
    each.kind === 'message'
      ? each.content
      : each.kind === 'summary'
        ? each.messages.flatMap(({ content }) => content)
        : [],
  )
const textsIn = (log: Log): readonly unknown[] =>
  blocksIn(log).map((block) => block['text'] ?? block['input'] ?? block['content'] ?? block['item'])

describe('a Codex rollout', () => {
  it('its items are messages; those of one reply are one, with its model and usage', () => {
    const usage = { input_tokens: 10, cached_input_tokens: 4, output_tokens: 2, total_tokens: 12 }
    const actions = actionsOf(
      line('turn_context', { model: 'gpt-5.5', effort: 'high', summary: 'auto' }),
      item(says('developer', '<permissions instructions> none')),
      item(says('user', 'List the files.')),
      item({ type: 'reasoning', summary: [] }),
      item({
        type: 'reasoning',
        summary: [{ type: 'summary_text', text: 'Hm.' }],
        encrypted_content: 'gAAA',
      }),
      item({ ...says('assistant', 'I look.'), phase: 'commentary' }),
      item({ type: 'function_call', name: 'exec', arguments: '{"cmd":"ls"}', call_id: '1' }),
      item({ type: 'custom_tool_call', name: 'apply_patch', input: '*** Begin', call_id: '2' }),
      line('event_msg', { type: 'token_count', info: { last_token_usage: usage } }),
      line('event_msg', { type: 'token_count', info: { last_token_usage: { ...usage, output_tokens: 9 } } }),
      item({ type: 'function_call_output', call_id: '1', output: 'a.txt' }),
      item({
        type: 'custom_tool_call_output',
        call_id: '2',
        output: [
          { type: 'input_text', text: 'done' },
          { type: 'input_image', image_url: 'data:image/png;base64,AAAA' },
        ],
      }),
      item({ type: 'web_search_call', status: 'completed', action: { type: 'search', query: 'x' } }),
    )
    expect(actions).toMatchObject([
      { configuration: { system: 'Be brief.' } },
      {
        configuration: {
          system: 'Be brief.',
          model: 'gpt-5.5',
          parameters: { reasoning: { effort: 'high', summary: 'auto' } },
        },
      },
      { message: { role: 'system' } },
      { message: { role: 'user', content: [textBlock('List the files.')] }, time: timestamp },
      {
        message: {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'Hm.', encrypted_content: 'gAAA' },
            { type: 'text', text: 'I look.', phase: 'commentary' },
            { type: 'tool_use', id: '1', name: 'exec', input: { cmd: 'ls' } },
            { type: 'tool_use', id: '2', name: 'apply_patch', input: '*** Begin' },
          ],
          origin: {
            model: 'gpt-5.5',
            usage: { input_tokens: 6, cache_read_input_tokens: 4, output_tokens: 2, total_tokens: 12 },
          },
        },
      },
      { message: { content: [{ type: 'tool_result', tool_use_id: '1', content: 'a.txt' }] } },
      {
        message: {
          content: [
            {
              tool_use_id: '2',
              content: [textBlock('done'), { type: 'image', source: { type: 'base64', data: 'AAAA' } }],
            },
          ],
        },
      },
      {
        message: {
          role: 'assistant',
          content: [{ type: 'responses_item', item: { type: 'web_search_call' } }],
        },
      },
    ])
  })

  it('a compaction replaces everything before it, and its encrypted item is kept', () => {
    const opaque = { type: 'compaction', encrypted_content: 'gAAA' }
    const log = logOf(
      item(says('user', 'one')),
      item(says('assistant', 'first')),
      compacted(says('user', 'one'), opaque),
      item(says('user', 'two')),
    )
    expect(textsIn(log)).toEqual(['one', opaque, 'two'])
    // Other APIs do not take it: what is sent to them does not have it, and says so.
    const { messages, repairs } = render(effective(log))
    expect(JSON.stringify(messages)).not.toContain('gAAA')
    expect(repairs.map(({ kind }) => kind)).toContain('block-dropped')
  })

  it('a compaction of an early version, without its items, keeps the prompts', () => {
    const early = line('compacted', { message: 'They greeted each other.' })
    const log = logOf(
      item(says('user', '<environment_context>here</environment_context>')),
      item(says('user', 'one')),
      item(says('assistant', 'first')),
      early,
      item(says('user', 'two')),
      item(says('assistant', 'second')),
      line('compacted', { message: 'And again.' }),
    )
    expect(textsIn(log)).toEqual(['one', 'two', 'And again.'])
  })

  it('a rollback takes back turns with what Codex told before them, also through a compaction', () => {
    const turns = [
      item(says('developer', '<permissions instructions> all')),
      item(says('user', 'one')),
      item(says('assistant', 'first')),
      item(says('user', '<turn_aborted>by the user</turn_aborted>')),
      item(says('user', 'two')),
      item(says('assistant', 'second')),
    ]
    const begin = '<permissions instructions> all'
    expect(textsIn(logOf(...turns, rolledBack(1)))).toEqual([begin, 'one', 'first'])
    expect(textsIn(logOf(...turns, rolledBack(1), rolledBack(1)))).toEqual([begin])
    expect(textsIn(logOf(...turns, rolledBack(9), item(says('user', 'anew'))))).toEqual([begin, 'anew'])
    const summary = compacted(says('user', 'two'), says('user', 'A summary.'))
    expect(textsIn(logOf(...turns, summary, item(says('user', 'three')), rolledBack(1)))).toEqual([
      'two',
      'A summary.',
    ])
    expect(textsIn(logOf(...turns, summary, item(says('user', 'three')), rolledBack(2)))).toEqual([
      begin,
      'one',
      'first',
    ])
  })

  it('says from which session it was forked, and which one started it', () => {
    const { conversations, report } = planOf({
      text: jsonl(
        line('session_meta', { id: 'child', forked_from_id: 'parent', parent_thread_id: 'main' }),
        line('session_meta', { id: 'parent' }),
        line('event_msg', { type: 'task_started' }),
        item(says('user', 'one')),
      ),
      file: 'f',
    })
    expect(conversations).toMatchObject([
      {
        id: 'child',
        notes: [
          { data: { relation: 'fork-of', conversation: 'parent' } },
          { data: { relation: 'subagent-of', conversation: 'main' } },
        ],
      },
    ])
    expect(report.leftOut).toMatchObject([
      { kind: 'session_meta', count: 1 },
      { kind: 'event_msg', count: 1 },
    ])
  })

  it('a call or message that cannot be stored is a bad line', () => {
    const { report } = planOf({
      text: jsonl(
        meta,
        { type: 'response_item', payload: 'x' },
        item({ type: 'function_call', name: '', arguments: '{}', call_id: '1' }),
        item({ type: 'message', role: 'robot', content: [] }),
        compacted({ type: 'function_call', name: 'f', arguments: '{}' }),
        item(says('user', 'on')),
      ),
      file: 'f',
      skipBadLines: true,
    })
    expect(report.badLines.map(({ line: number }) => number)).toEqual([2, 3, 4, 5])
  })
})

type Move =
  | { readonly do: 'user' | 'reply' | 'call' | 'context' | 'developer' }
  | { readonly do: 'compact'; readonly keeps: number }
  | { readonly do: 'roll'; readonly count: number }

const move: fc.Arbitrary<Move> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constantFrom('user', 'reply', 'call', 'context', 'developer') }),
  },
  fc.record({ do: fc.constant('compact' as const), keeps: fc.nat(3) }),
  fc.record({ do: fc.constant('roll' as const), count: fc.integer({ min: 1, max: 3 }) }),
)

/**
 * Writes a rollout, and keeps the history as Codex's own rules have it (formats: compactions replace the list, a rollback drops the newest
 * turns that still stand and, with them, compactions within).
 */
const written = (
  moves: readonly Move[],
): { readonly lines: readonly Fields[]; readonly history: readonly string[] } => {
  const lines: Fields[] = []
  let turns: { readonly before: readonly string[] }[] = []
  let history: string[] = []
  const put = (text: string, ...items: readonly Fields[]): void => {
    lines.push(...items.map(item))
    history.push(text)
  }
  for (const [index, each] of moves.entries())
    switch (each.do) {
      case 'user':
        turns.push({ before: history })
        history = [...history]
        put(`user ${index}`, says('user', `user ${index}`))
        break
      case 'reply':
        put(`reply ${index}`, says('assistant', `reply ${index}`))
        break
      case 'call': {
        const call = { type: 'function_call', name: 'f', call_id: `${index}`, arguments: `{"at":${index}}` }
        put(`call ${index}`, call, { type: 'function_call_output', call_id: `${index}`, output: 'ok' })
        break
      }
      case 'context':
      case 'developer': {
        const text = each.do === 'context' ? `<turn_aborted>${index}` : `rules ${index}`
        put(text, says(each.do === 'context' ? 'user' : 'developer', text))
        break
      }
      case 'compact': {
        const prompts = history.filter((text) => text.startsWith('user ')).slice(-each.keeps)
        history = [...prompts, `summary ${index}`]
        lines.push(compacted(...history.map((text) => says('user', text))))
        break
      }
      case 'roll': {
        lines.push(rolledBack(each.count))
        const kept = turns.slice(0, Math.max(0, turns.length - each.count))
        const first = turns[kept.length]
        if (first) history = [...first.before]
        // What Codex told just before a turn goes with it, but for the first.
        while (first && kept.length > 0 && history.at(-1)?.startsWith('<turn_aborted>') === true)
          history.pop()
        turns = kept
      }
    }
  return { lines, history }
}

describe('rollouts at random', () => {
  it('show what Codex would send, as a whole and cut off anywhere; what is rendered is valid', () => {
    fc.assert(
      fc.property(fc.array(move, { maxLength: 25 }), fc.nat(), (moves, where) => {
        const { lines, history } = written(moves)
        if (history.length === 0 || !lines.some(({ type }) => type === 'response_item')) return
        const whole = jsonl(meta, ...lines)
        const archive = importFile({ text: jsonl(meta, ...lines.slice(0, where % lines.length)), file: 'f' })
        const grown = onlyLog(importFile({ text: whole, file: 'f' }, archive))
        const shown = blocksIn(grown)
          .filter(({ type }) => type !== 'tool_result')
          .map(({ type, text, input }) =>
            type === 'text' ? text : `call ${String((input as { readonly at: number }).at)}`,
          )
        expect(shown).toEqual(history)
        expect(violations({ rendered: render(effective(grown)) })).toEqual([])
      }),
      { numRuns: runs(300) },
    )
  })
})

describe('the commit that a Codex rollout names', () => {
  const commit = '3f2a1c4'.padEnd(40, '0')
  const lines = [
    line('session_meta', { id: 'c', cwd: '/', git: { commit_hash: commit, branch: 'main' } }),
    item(says('user', 'List the files.')),
    item(says('assistant', 'a.txt')),
  ]
  const workspacesOf = (log: Log): readonly unknown[] => log.map(({ metadata }) => metadata.workspace)

  it('is that of the files at the first event, also if that is a configuration', () => {
    const [first = {}, ...rest] = lines
    const plain = onlyLog(importFile({ text: jsonl(...lines), file: 'f' }))
    expect(workspacesOf(plain)).toEqual([{ kind: 'git', commit }, undefined])
    const prompted = {
      ...first,
      payload: { ...(first['payload'] as Fields), base_instructions: { text: 'Hm.' } },
    }
    const configured = onlyLog(importFile({ text: jsonl(prompted, ...rest), file: 'f' }))
    expect(workspacesOf(configured)).toEqual([{ kind: 'git', commit }, undefined, undefined])
  })

  it.each([{ branch: 'main' }, { commit_hash: 'main' }, 'main', null])('is none in %j', (git) => {
    const naming = line('session_meta', { id: 'c', cwd: '/', git })
    const log = onlyLog(importFile({ text: jsonl(naming, item(says('user', 'Hello.'))), file: 'f' }))
    expect(workspacesOf(log)).toEqual([undefined])
  })

  it('adds nothing to a file that was imported without it, and changes nothing when it is imported again', async () => {
    const store = await openStore('memory:')
    atEnd(store.close)
    const importing = async (...all: readonly Fields[]) =>
      (await store.importSession({ text: jsonl(...all), file: 'f' })).conversations[0]
    const without = [line('session_meta', { id: 'c', cwd: '/' }), ...lines.slice(1)]
    expect(await importing(...without)).toMatchObject({ added: 2, events: 2 })
    expect(await importing(...lines)).toMatchObject({ added: 0, events: 2 })
    expect(await importing(...lines, item(says('user', 'Thanks.')))).toMatchObject({ added: 1, events: 3 })
  })
})
