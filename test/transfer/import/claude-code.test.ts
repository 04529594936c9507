import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { ImportReport, ImportAction } from '../../../src/transfer/formats/plan.ts'
import { effective } from '../../../src/projections/effective.ts'
import { render } from '../../../src/projections/render/render.ts'
import { importFile, jsonl, logsOf, onlyLog, planOf, shownIn } from '../../support/import-log.ts'
import { violations } from '../../support/predicates.ts'
import { runs } from '../../support/runs.ts'

interface Fields {
  readonly [field: string]: unknown
}
const entry = (uuid: string, parentUuid: string | null, more: Fields): Fields => ({
  uuid,
  parentUuid,
  sessionId: 's',
  ...more,
})
const user = (uuid: string, parent: string | null, content: unknown = uuid, more: Fields = {}): Fields =>
  entry(uuid, parent, { type: 'user', message: { role: 'user', content }, ...more })
const assistant = (
  uuid: string,
  parent: string | null,
  id: string,
  block: unknown,
  more: Fields = {},
): Fields =>
  entry(uuid, parent, {
    type: 'assistant',
    message: { id, model: 'm', role: 'assistant', content: [block] },
    ...more,
  })
const text = (value: string): Fields => ({ type: 'text', text: value })
const call = (id: string): Fields => ({ type: 'tool_use', id, name: 'run', input: {} })
const result = (id: string): readonly Fields[] => [{ type: 'tool_result', tool_use_id: id, content: 'ok' }]

const actions = (...entries: readonly Fields[]): readonly ImportAction[] =>
  planOf({ text: jsonl(...entries), file: 'f' }).conversations.flatMap((plan) => [...plan.actions])
const report = (...entries: readonly Fields[]): ImportReport =>
  planOf({ text: jsonl(...entries), file: 'f' }).report
const shown = (...entries: readonly Fields[]): readonly unknown[] =>
  shownIn(onlyLog(importFile({ text: jsonl(...entries), file: 'f' })))
const types = (all: readonly ImportAction[]): readonly string[] =>
  all.map((action) => (action.type === 'rewind' ? `rewind ${action.to}` : `${action.type} ${action.ref}`))

describe('Claude Code: one message, many lines', () => {
  const split = [
    user('u', null),
    assistant('a1', 'u', 'm1', text('I run two.')),
    assistant('a2', 'a1', 'm1', call('x')),
    user('r1', 'a2', result('x')),
    assistant('a3', 'r1', 'm1', call('y'), { requestId: 'q' }),
    user('r2', 'a3', result('y')),
    assistant('b', 'r2', 'm2', text('Done.')),
  ]

  it('is one message again, with the results that came in between behind it', () => {
    expect(types(actions(...split))).toEqual([
      'message u',
      'message a1',
      'message r1',
      'message r2',
      'message b',
    ])
    expect(shown(...split)[1]).toEqual({
      role: 'assistant',
      content: [text('I run two.'), call('x'), call('y')],
    })
  })

  it('is taken again whole where an earlier import had the first lines only', () => {
    const file = (count: number): { readonly text: string; readonly file: string } => ({
      text: jsonl(...split.slice(0, count)),
      file: 'f',
    })
    for (let cut = 1; cut < split.length; cut++)
      for (let next = cut; next < split.length; next++) {
        const twice = importFile(file(next), importFile(file(cut)))
        const archive = importFile(file(split.length), twice)
        expect(shownIn(onlyLog(archive)), `cut at ${cut} and ${next}`).toEqual(shown(...split))
        expect(importFile(file(split.length), archive)).toEqual(archive)
      }
  })

  it('has one path where parallel results are siblings in the tree', () => {
    const all = actions(
      user('u', null),
      assistant('a1', 'u', 'm1', call('x')),
      assistant('a2', 'a1', 'm1', call('y')),
      user('ry', 'a2', result('y')),
      user('rx', 'a1', result('x')),
      assistant('b', 'ry', 'm2', text('Done.')),
    )
    expect(types(all)).toEqual(['message u', 'message a1', 'message ry', 'message rx', 'message b'])
  })
})

describe('Claude Code: an id that is repeated', () => {
  const talk = (more: (index: number) => Fields = () => ({})): readonly Fields[] => [
    user('q1', null),
    assistant('a1', 'q1', 'm', text('one'), more(1)),
    user('q2', 'a1'),
    assistant('a2', 'q2', 'm', text('two'), more(2)),
    user('q3', 'a2'),
    assistant('a3', 'q3', 'm', text('three'), more(3)),
  ]
  const said = ['message q1', 'message a1', 'message q2', 'message a2', 'message q3', 'message a3']

  it('is another message after each prompt', () => {
    expect(types(actions(...talk()))).toEqual(said)
    expect(types(actions(...talk((index) => ({ requestId: `r${index}` }))))).toEqual(said)
    const agent = talk(() => ({ isSidechain: true, agentId: 'g' }))
    expect(
      types(actions(...agent.map((fields) => ({ ...fields, isSidechain: true, agentId: 'g' })))),
    ).toEqual(said)
  })

  it('is another message after what was typed meanwhile, a branch and a compaction', () => {
    const attachment = { type: 'queued_command', prompt: 'stop' }
    const work = [
      user('u', null),
      assistant('a', 'u', 'm', call('x')),
      user('r', 'a', result('x')),
      entry('q', 'r', { type: 'attachment', attachment }),
      assistant('b', 'q', 'm', text('Stopped.')),
      user('v', 'a'),
      assistant('c', 'v', 'm', text('Or not.')),
      entry('cb', null, { type: 'system', subtype: 'compact_boundary', logicalParentUuid: 'c' }),
      user('s', 'cb', 'Summary.', { isCompactSummary: true }),
      assistant('d', 's', 'm', text('And now?')),
    ]
    expect(types(actions(...work))).toEqual([
      'message u',
      'message a',
      'message r',
      'message q',
      'message b',
      'rewind r',
      'message v',
      'message c',
      'condense s',
      'message d',
    ])
  })

  const work = (...requests: readonly (string | undefined)[]): readonly Fields[] => {
    const of = (index: number): Fields => ({ requestId: requests[index] })
    return [
      user('u', null),
      assistant('a', 'u', 'm', call('x'), of(0)),
      user('r', 'a', result('x')),
      assistant('b', 'r', 'm', call('y'), of(1)),
      user('t', 'b', result('y')),
      assistant('c', 't', 'm', text('Done.'), of(2)),
      user('v', 'c'),
      assistant('d', 'v', 'm', text('Again.'), of(3)),
    ]
  }

  it('is one message across tool results, as the client sends it, unless the requests differ', () => {
    expect(shown(...work())).toMatchObject([
      { content: [text('u')] },
      { content: [call('x'), call('y'), text('Done.')] },
      { content: result('x') },
      { content: result('y') },
      { content: [text('v')] },
      { content: [text('Again.')] },
    ])
    const apart = ['u', 'a', 'r', 'b', 't', 'c', 'v', 'd'].map((ref) => `message ${ref}`)
    expect(types(actions(...work('1', '2', '3', '4')))).toEqual(apart)
  })

  it('is another message where a call has the id of one that was answered', () => {
    const all = [
      user('u', null),
      assistant('a', 'u', 'm', call('x')),
      user('r', 'a', result('x')),
      assistant('b', 'r', 'm', call('x')),
      user('t', 'b', result('x')),
    ]
    expect(types(actions(...all))).toEqual(['u', 'a', 'r', 'b', 't'].map((ref) => `message ${ref}`))
  })
})

describe('Claude Code: rounds', () => {
  const round = [
    user('u', null),
    assistant('a1', 'u', 'm1', call('x')),
    assistant('a2', 'a1', 'm1', call('y')),
    user('rx', 'a1', result('x')),
    user('ry', 'a2', result('y')),
  ]

  it('the remark of a hook on one of the results belongs to the round', () => {
    const all = actions(
      ...round,
      user('m', 'rx', 'a remark', { isMeta: true }),
      assistant('b', 'ry', 'm2', text('Done.')),
    )
    expect(types(all).slice(3)).toEqual(['message ry', 'message m', 'message b'])
  })

  it('a result that comes late stays where the file has it', () => {
    const all = actions(
      ...round.slice(0, 4),
      assistant('b', 'rx', 'm2', text('Done.')),
      user('ry', 'a2', result('y')),
    )
    expect(types(all).slice(2)).toEqual(['message rx', 'message b', 'message ry'])
  })

  it('a call that is recorded twice is one call', () => {
    const all = [...round, assistant('a3', 'a2', 'm1', call('y'))]
    expect(shown(...all)[1]).toEqual({ role: 'assistant', content: [call('x'), call('y')] })
    expect(report(...all).leftOut).toMatchObject([{ kind: 'assistant block', count: 1 }])
  })

  it('a reply that is tried again, line by line, is a branch', () => {
    const all = [
      ...round.slice(0, 2),
      assistant('b1', 'u', 'm2', text('Or')),
      assistant('b2', 'b1', 'm2', text('so.')),
    ]
    expect(types(actions(...all))).toEqual(['message u', 'message a1', 'rewind u', 'message b1'])
    expect(shown(...all)[1]).toEqual({ role: 'assistant', content: [text('Or'), text('so.')] })
  })
})

describe('Claude Code: the tree', () => {
  it('a retried branch is a rewind, and the last leaf is the head', () => {
    const all = [
      user('u1', null),
      assistant('a1', 'u1', 'm1', text('one')),
      user('u2', 'a1'),
      assistant('a2', 'u2', 'm2', text('two')),
      user('u3', 'a1'),
      assistant('a3', 'u3', 'm3', text('three')),
    ]
    expect(types(actions(...all))).toEqual([
      'message u1',
      'message a1',
      'message u2',
      'message a2',
      'rewind a1',
      'message u3',
      'message a3',
    ])
    expect(shown(...all)).toHaveLength(4)
  })

  it('a second root begins again from nothing; a parent that is not in the file continues', () => {
    expect(types(actions(user('u1', null), user('u2', null)))).toEqual([
      'message u1',
      'rewind null',
      'message u2',
    ])
    expect(types(actions(user('u1', 'cut off'), user('u2', 'elsewhere')))).toEqual([
      'message u1',
      'message u2',
    ])
  })

  it('entries that are no messages are passed through', () => {
    const progress = entry('p', 'u1', { type: 'progress' })
    expect(types(actions(user('u1', null), progress, assistant('a', 'p', 'm', text('x'))))).toEqual([
      'message u1',
      'message a',
    ])
  })

  it('the same entry twice is left out', () => {
    expect(report(user('u', null), user('u', null)).leftOut).toMatchObject([{ kind: 'user', count: 1 }])
  })

  it('a subagent is a conversation of its own, by its agent or the root of its chain', () => {
    const { conversations } = planOf({
      file: 'f',
      text: jsonl(
        user('u', null),
        user('s1', null, 'old', { isSidechain: true }),
        user('s2', 's1', 'old too', { isSidechain: true }),
        user('t', null, 'new', { isSidechain: true, agentId: 'a7' }),
      ),
    })
    expect(conversations.map(({ id, actions: own }) => [id, own.length])).toEqual([
      ['s', 1],
      ['s:s1', 2],
      ['s:a7', 1],
    ])
  })
})

describe('Claude Code: what the model sees', () => {
  const boundary = (parent: string, compactMetadata: Fields): Fields =>
    entry('c', null, {
      type: 'system',
      subtype: 'compact_boundary',
      logicalParentUuid: parent,
      compactMetadata,
    })
  const summary = user('s', 'c', 'Summary.', { isCompactSummary: true })
  const talk = [user('u1', null), assistant('a1', 'u1', 'm1', text('one')), user('u2', 'a1')]
  const kept = { preservedSegment: { headUuid: 'u2', anchorUuid: 's', tailUuid: 'u2' } }

  it('a compaction hides everything before it behind its summary', () => {
    const all = [...talk, boundary('u2', { preTokens: 900, trigger: 'auto' }), summary, user('u3', 's')]
    expect(shown(...all)).toEqual([
      { summary: [{ role: 'user', content: [text('Summary.')] }] },
      { role: 'user', content: [text('u3')] },
    ])
    expect(onlyLog(importFile({ text: jsonl(...all), file: 'f' }))[3]).toMatchObject({
      type: 'Condensed',
      data: {
        covers: { first: 0, last: 2 },
        messagesHidden: 3,
        method: 'client',
        origin: { usage: { tokens_before: 900 } },
      },
    })
  })

  it('messages that a compaction kept stay, behind the summary', () => {
    expect(shown(...talk, boundary('u2', kept), summary)).toMatchObject([
      { summary: {} },
      { content: [text('u2')] },
    ])
  })

  const list = { preservedMessages: { anchorUuid: 's', uuids: ['u2'], allUuids: ['u2', 'hook'] } }
  it.each([
    ['a segment', 'a1', kept],
    ['a list', 'a1', list],
    ['both', 'a1', { ...kept, ...list }],
    ['a list', 'u2', list],
  ])('what was summarised up to a message ends before it (%s, after %s)', (_, parent, metadata) => {
    const all = [...talk, boundary(parent, metadata), summary, assistant('a2', 'u2', 'm2', text('two'))]
    expect(types(actions(...all)).slice(3)).toEqual(['condense s', 'message a2'])
    expect(shown(...all)).toMatchObject([
      { summary: {} },
      { content: [text('u2')] },
      { content: [text('two')] },
    ])
  })

  const start = { preservedSegment: { headUuid: 'u1', anchorUuid: 'c', tailUuid: 'a1' } }
  it.each([start, { preservedMessages: { anchorUuid: 'c', uuids: ['u1', 'a1'] } }])(
    'what was summarised from a message on comes after what was kept',
    (metadata) => {
      const more = assistant('a2', 'u2', 'm2', text('two'))
      const all = [...talk, more, boundary('a1', metadata), summary, user('u3', 's')]
      expect(types(actions(...all)).slice(4)).toEqual(['condense s', 'message u3'])
      expect(shown(...all)).toMatchObject([
        { content: [text('u1')] },
        { content: [text('one')] },
        { summary: [{ content: [text('Summary.')] }] },
        { content: [text('u3')] },
      ])
    },
  )

  it('a part may be summarised behind what an earlier compaction kept', () => {
    const later = { preservedSegment: { headUuid: 'c', anchorUuid: 'c2', tailUuid: 'u2' } }
    const all = [
      ...talk,
      boundary('u2', kept),
      summary,
      assistant('a2', 'u2', 'm2', text('two')),
      user('u3', 'a2'),
      { ...boundary('u2', later), uuid: 'c2' },
      user('s2', 'c2', 'Summary of the rest.', { isCompactSummary: true }),
      user('u4', 's2'),
    ]
    expect(types(actions(...all)).slice(3)).toEqual([
      'condense s',
      'message a2',
      'message u3',
      'condense s2',
      'message u4',
    ])
    expect(shown(...all)).toMatchObject([
      { summary: [{ content: [text('Summary.')] }] },
      { content: [text('u2')] },
      { summary: [{ content: [text('Summary of the rest.')] }] },
      { content: [text('u4')] },
    ])
  })

  it('a second compaction hides the first', () => {
    const second = { ...boundary('s', {}), uuid: 'c2' }
    const again = { ...summary, uuid: 's2', parentUuid: 'c2' }
    expect(shown(...talk, boundary('u2', {}), summary, second, again)).toHaveLength(1)
  })

  it('a file that begins with a summary begins with a message', () => {
    expect(types(actions(boundary('elsewhere', {}), summary))).toEqual(['message s'])
  })

  it('a boundary without a summary is reported', () => {
    expect(report(...talk, boundary('u2', {})).leftOut).toMatchObject([
      { kind: 'compact_boundary', count: 1 },
    ])
  })

  it.each(['s', 'u2'])(
    'a second compaction behind one that kept a part hides that part too (behind %s)',
    (parent) => {
      const second = { ...boundary(parent, {}), uuid: 'c2' }
      const again = user('s2', 'c2', 'Summary of all.', { isCompactSummary: true })
      const all = [...talk, boundary('u2', kept), summary, second, again]
      expect(shown(...all)).toEqual([{ summary: [{ role: 'user', content: [text('Summary of all.')] }] }])
      expect(types(actions(...all)).slice(3)).toEqual(['condense s', 'condense s2'])
    },
  )

  it('a second compaction may keep a part of what the first one kept', () => {
    const more = [assistant('a2', 'u2', 'm2', text('two')), user('u3', 'a2')]
    const later = { preservedSegment: { headUuid: 'u3', anchorUuid: 's2', tailUuid: 'u3' } }
    const second = { ...boundary('u3', later), uuid: 'c2' }
    const again = user('s2', 'c2', 'Summary of all.', { isCompactSummary: true })
    expect(shown(...talk, boundary('u2', kept), summary, ...more, second, again)).toMatchObject([
      { summary: [{ content: [text('Summary of all.')] }] },
      { content: [text('u3')] },
    ])
  })

  it('what continues from the part that a compaction kept continues behind its summary', () => {
    const all = [...talk, boundary('u2', kept), summary, assistant('a2', 'u2', 'm2', text('two'))]
    expect(types(actions(...all)).slice(3)).toEqual(['condense s', 'message a2'])
    expect(shown(...all)).toMatchObject([
      { summary: {} },
      { content: [text('u2')] },
      { content: [text('two')] },
    ])
  })

  describe('results that the client cleared', () => {
    const microcompact = (uuid: string, parent: string, ...compactedToolIds: readonly string[]): Fields =>
      entry(uuid, parent, {
        type: 'system',
        subtype: 'microcompact_boundary',
        microcompactMetadata: { trigger: 'auto', preTokens: 900, tokensSaved: 500, compactedToolIds },
      })
    const cleared = (id: string): Fields => ({
      type: 'tool_result',
      tool_use_id: id,
      content: '[Old tool result content cleared]',
    })
    const both = [...result('x'), ...result('y')]
    const work = [
      user('u', null),
      assistant('a1', 'u', 'm1', call('x')),
      assistant('a2', 'a1', 'm1', call('y')),
      user('r', 'a2', both),
      assistant('b', 'r', 'm2', call('z')),
      user('rz', 'b', result('z')),
    ]
    const edited = (all: readonly Fields[]): readonly unknown[] =>
      shown(...all).flatMap((item) => (item as { readonly summary?: readonly Fields[] }).summary ?? [])

    it('are edits in place, each of one message', () => {
      const all = [
        ...work,
        microcompact('mc', 'rz', 'x', 'z', 'gone'),
        assistant('c', 'mc', 'm3', text('done')),
      ]
      expect(edited(all)).toEqual([
        { role: 'user', content: [cleared('x'), ...result('y')] },
        { role: 'user', content: [cleared('z')] },
      ])
      expect(types(actions(...all)).slice(5)).toEqual(['condense mc:r', 'condense mc:rz', 'message c'])
      expect(onlyLog(importFile({ text: jsonl(...all), file: 'f' })).slice(5, 7)).toMatchObject([
        {
          data: {
            covers: { first: 2, last: 2 },
            method: 'client',
            origin: { usage: { trigger: 'auto', tokens_before: 900, tokens_saved: 500 } },
          },
        },
        { data: { covers: { first: 4, last: 4 } } },
      ])
      expect(report(...all).notes).toEqual([expect.stringContaining('cleared tool results')])
    })

    it('stay cleared when others of the message are cleared later, but not on another branch', () => {
      const twice = [...work, microcompact('mc', 'rz', 'x'), microcompact('md', 'mc', 'x', 'y')]
      expect(edited(twice)).toEqual([{ role: 'user', content: [cleared('x'), cleared('y')] }])
      const branch = [...work, microcompact('mc', 'rz', 'x'), user('v', 'r'), microcompact('md', 'v', 'y')]
      expect(edited(branch)).toEqual([{ role: 'user', content: [...result('x'), cleared('y')] }])
    })

    it('are hidden with the rest by a compaction, unless it kept them', () => {
      const compacted = [...work, microcompact('mc', 'rz', 'x'), boundary('mc', {}), summary]
      expect(shown(...compacted)).toHaveLength(1)
      expect(report(...compacted, microcompact('md', 's', 'x')).leftOut).toMatchObject([
        { kind: 'microcompact_boundary', reason: 'the results that it clears are not shown' },
      ])
      const segment = { preservedSegment: { headUuid: 'b', anchorUuid: 's', tailUuid: 'rz' } }
      const keeps = [...work, microcompact('mc', 'rz', 'x'), boundary('mc', segment), summary]
      expect(shown(...keeps, microcompact('md', 's', 'z'))).toMatchObject([
        { summary: [{ content: [text('Summary.')] }] },
        { content: [call('z')] },
        { summary: [{ content: [cleared('z')] }] },
      ])
    })
  })

  it('API errors are not in it; remarks of hooks are', () => {
    const error = assistant('e', 'u', 'm0', text('API Error: 529'), { isApiErrorMessage: true })
    const all = [
      user('u', null),
      error,
      user('m', 'e', 'a remark', { isMeta: true }),
      assistant('a', 'm', 'm1', text('x')),
    ]
    expect(types(actions(...all))).toEqual(['message u', 'message m', 'message a'])
    expect(report(...all).leftOut).toMatchObject([{ kind: 'API error', count: 1 }])
  })

  it('a message that cannot be stored is a bad line', () => {
    const bad = user('u', null, [{ type: 'text' }])
    expect(
      planOf({ text: jsonl(user('v', null), bad), file: 'f', skipBadLines: true }).report.badLines,
    ).toMatchObject([{ line: 2 }])
  })
})

describe('Claude Code: entries that a compaction records again', () => {
  /** What the client sends, and what it writes: from its second compaction on it records again what an earlier one hid. */
  const client = () => {
    const written: Fields[] = []
    let scrollback: readonly Fields[] = []
    let sent: readonly Fields[] = []
    let recorded: ReadonlySet<unknown> = new Set()
    let hook: string | undefined
    const record = (row: Fields): Fields => {
      const copies = scrollback.filter(({ uuid }) => !recorded.has(uuid))
      const parentUuid = copies.at(-1)?.['uuid'] ?? scrollback.at(-1)?.['uuid'] ?? null
      const placed: Fields = { ...row, parentUuid: row['parentUuid'] ?? parentUuid }
      written.push(...copies, placed)
      recorded = new Set([...recorded, placed['uuid'], ...copies.map(({ uuid }) => uuid)])
      return placed
    }
    const write = (row: Fields): Fields => {
      const placed: Fields = { ...row, parentUuid: hook ?? scrollback.at(-1)?.['uuid'] ?? null }
      hook = undefined
      written.push(placed)
      recorded = new Set([...recorded, placed['uuid']])
      scrollback = [...scrollback, placed]
      return placed
    }
    const name = (): string => `e${written.length}`
    const say = (): void => {
      const asked = write(user(name(), null))
      sent = [...sent, asked, write(assistant(name(), null, `m${written.length}`, text(name())))]
    }
    /** @param keeps how many messages stay, the last ones, or the first ones if it is negative */
    const compact = (keeps: number): void => {
      const kept = keeps < 0 ? sent.slice(0, -keeps) : sent.slice(sent.length - keeps)
      const hidden = sent.filter((row) => !kept.includes(row))
      if (hidden.length === 0 || kept.some((row) => row['isCompactSummary'] === true)) return
      const stop = record(entry(name(), null, { type: 'system', subtype: 'stop_hook_summary' }))
      const [boundary, summary] = [`c${written.length}`, `s${written.length}`]
      const uuids = kept.map(({ uuid }) => uuid)
      const anchorUuid = keeps < 0 ? boundary : summary
      const tailUuid = keeps < 0 ? uuids.at(-1) : stop['uuid']
      const metadata = {
        preservedSegment: { headUuid: uuids[0], anchorUuid, tailUuid },
        preservedMessages: { anchorUuid, uuids, allUuids: [...uuids, tailUuid] },
      }
      const [cut, told] = [
        entry(boundary, null, {
          type: 'system',
          subtype: 'compact_boundary',
          logicalParentUuid: keeps < 0 ? tailUuid : stop['uuid'],
          compactMetadata: uuids.length > 0 ? metadata : {},
        }),
        user(summary, boundary, `Summary ${summary}`, { isCompactSummary: true }),
      ]
      written.push(cut, told)
      recorded = new Set([boundary, summary, stop['uuid'], ...uuids])
      const before = scrollback.filter((row) => !kept.includes(row))
      scrollback = [...before, cut, ...(keeps < 0 ? [...kept, told] : [told, ...kept])]
      hook = keeps > 0 ? String(stop['uuid']) : summary
      sent = keeps < 0 ? [...kept, told] : [told, ...kept]
    }
    return {
      say,
      compact,
      written,
      /** As after an end of the process: the recorder knows what it wrote. */
      resume: () => {
        scrollback = scrollback.filter(({ uuid }) => recorded.has(uuid))
      },
      sent: () => sent.map(({ message }) => (message as Fields)['content']),
    }
  }
  const seen = (written: readonly Fields[]): readonly unknown[] =>
    shown(...written).map((item) => {
      const { summary, content } = item as {
        readonly summary?: readonly Fields[]
        readonly content?: unknown
      }
      return summary?.[0]?.['content'] ?? content
    })
  const asBlocks = (contents: readonly unknown[]): readonly unknown[] =>
    contents.map((content) => (typeof content === 'string' ? [text(content)] : content))

  it('are not gone back to: the model sees the last summary, whatever the compactions kept', () => {
    const act = fc.oneof(
      { weight: 3, arbitrary: fc.constant('say' as const) },
      { weight: 2, arbitrary: fc.integer({ min: -2, max: 3 }) },
      { weight: 1, arbitrary: fc.constant('resume' as const) },
    )
    fc.assert(
      fc.property(fc.array(act, { minLength: 1, maxLength: 20 }), (acts) => {
        const { say, compact, resume, sent, written } = client()
        say()
        for (const each of acts) {
          if (each === 'say') say()
          else if (each === 'resume') resume()
          else compact(each)
          expect(seen(written)).toEqual(asBlocks(sent()))
        }
        expect(types(actions(...written)).filter((type) => type.startsWith('rewind'))).toEqual([])
      }),
      { numRuns: runs(300) },
    )
  })
})

describe('Claude Code: an entry that names a parent from before a compaction', () => {
  const boundary = (uuid: string, logicalParentUuid: string, compactMetadata: Fields = {}): Fields =>
    entry(uuid, null, { type: 'system', subtype: 'compact_boundary', logicalParentUuid, compactMetadata })
  const summary = (uuid: string, parent: string): Fields =>
    user(uuid, parent, uuid, { isCompactSummary: true })
  const begun = [
    user('q1', null),
    assistant('a1', 'q1', 'm1', text('a1')),
    user('q2', 'a1'),
    boundary('c1', 'q2'),
    summary('s1', 'c1'),
    user('q3', 's1'),
    assistant('a3', 'q3', 'm3', text('a3')),
  ]
  const notesOf = (...all: readonly Fields[]): readonly string[] => report(...all).notes
  const texts = (...all: readonly Fields[]): readonly unknown[] =>
    shown(...all).map((item) => {
      const { summary: told, content } = item as {
        readonly summary?: readonly Fields[]
        readonly content?: unknown
      }
      return ((told?.[0]?.['content'] ?? content) as readonly Fields[])[0]?.['text']
    })

  it('is a rewind, and noted, after copies that end before what was hidden', () => {
    for (const copies of [[], begun.slice(0, 2)]) {
      const all = [...begun, ...copies, user('q4', 'a1')]
      expect(texts(...all)).toEqual(['q1', 'a1', 'q4'])
      expect(notesOf(...all)).toEqual([expect.stringContaining('before a compaction')])
    }
  })

  it('continues from the end after copies of all that was hidden, and that is noted', () => {
    const all = [...begun, ...begun.slice(0, 3), user('q4', 'q2')]
    expect(texts(...all)).toEqual(['s1', 'q3', 'a3', 'q4'])
    expect(notesOf(...all)).toEqual([expect.stringContaining('recorded a second time')])
    expect(texts(...all, ...begun.slice(0, 3), user('q5', 'q2'))).toEqual(['s1', 'q3', 'a3', 'q4', 'q5'])
  })

  it('continues from the end if the copies repeat a session that was not compacted', () => {
    const talk = begun.slice(0, 3)
    expect(texts(...talk, ...talk, user('q4', 'q2'))).toEqual(['q1', 'a1', 'q2', 'q4'])
    expect(texts(...talk, ...talk, user('q4', 'a1'))).toEqual(['q1', 'a1', 'q4'])
    expect(notesOf(...talk, ...talk, user('q4', 'a1'))).toEqual([])
  })

  it('was kept where the next compaction says so', () => {
    const kept = { headUuid: 'a3', anchorUuid: 's2', tailUuid: 'hook' }
    const all = [
      ...begun,
      entry('hook', 'a1', { type: 'system', subtype: 'stop_hook_summary' }),
      boundary('c2', 'hook', { preservedSegment: kept }),
      summary('s2', 'c2'),
      user('q4', 'hook'),
    ]
    expect(texts(...all)).toEqual(['s2', 'a3', 'q4'])
  })
})

describe('Claude Code: an entry whose parent is not there yet', () => {
  const orphan = user('b', 'gone')
  const typed = (operation: string, content: string): Fields => ({
    type: 'queue-operation',
    operation,
    timestamp: '2026-01-01T00:00:00.000Z',
    content,
  })

  it('waits for the next line only: what is queued later does not overtake it', () => {
    const lines = [
      user('a', null, result('c')),
      typed('enqueue', 'Later.'),
      { ...orphan, isCompactSummary: true },
      typed('remove', 'Later.'),
    ]
    const file = (count: number) => ({ text: jsonl(...lines.slice(0, count)), file: 'f' })
    const format = 'claude-code' as const
    const parts = importFile({ ...file(4), format }, importFile({ ...file(3), format }))
    expect(shownIn(onlyLog(parts))).toEqual(shown(...lines))
  })
})

describe('Claude Code: any tree', () => {
  const anyLine = fc.record({ kind: fc.nat(14), back: fc.nat(12), id: fc.nat(4) })
  const lineOf = ({ kind, back, id }: { kind: number; back: number; id: number }, index: number): Fields => {
    // Mostly the line before; now and then an older one, none, or one that is not there.
    const parent = back < 9 ? `e${index - 1}` : back < 11 ? `e${index - back}` : back === 11 ? null : 'gone'
    const uuid = `e${index}`
    if (kind < 2) return user(uuid, parent)
    if (kind < 5) return assistant(uuid, parent, `m${id}-${Math.floor(index / 4)}`, call(`c${index}`))
    if (kind < 7) return user(uuid, parent, result(`c${index - 1 - id}`))
    if (kind === 7) return user(uuid, parent, 'remark', { isMeta: true })
    const [far, near] = [`e${index - 3 - id}`, `e${index - 1}`]
    const compactMetadata = [
      { preservedSegment: { headUuid: far, tailUuid: near } },
      { preservedMessages: { anchorUuid: 's', uuids: [far, near] } },
      { preservedSegment: { anchorUuid: uuid, headUuid: 'e0', tailUuid: far } },
    ][id]
    if (kind === 8)
      return {
        ...entry(uuid, null, { type: 'system', subtype: 'compact_boundary' }),
        logicalParentUuid: parent,
        compactMetadata,
      }
    if (kind === 9) return user(uuid, parent, 'Summary.', { isCompactSummary: true })
    if (kind === 10)
      return {
        ...entry(uuid, parent, { type: 'system', subtype: 'microcompact_boundary' }),
        microcompactMetadata: { compactedToolIds: [1, 2, 3, 4].map((by) => `c${index - by - id}`) },
      }
    if (kind === 11)
      return entry(uuid, parent, {
        type: 'attachment',
        attachment: { type: 'queued_command', prompt: `typed ${id}` },
      })
    const operations = ['enqueue', 'enqueue', 'remove', 'remove', 'dequeue']
    const timestamp = new Date(Date.UTC(2026, 0, 1) + index * 1000).toISOString()
    return { type: 'queue-operation', operation: operations[id], timestamp, content: `typed ${index % 3}` }
  }

  it('is imported whole, the same in one part or in two, and gives valid requests', () => {
    fc.assert(
      fc.property(fc.array(anyLine, { minLength: 1, maxLength: 30 }), fc.nat(30), (draft, cut) => {
        const first = draft.map(lineOf)
        // Some are recorded again.
        const lines = first.map((line, index) =>
          draft[index]?.kind === 14 ? (first[index - 3] ?? line) : line,
        )
        const file = (count: number): { text: string; file: string } => ({
          text: jsonl(...lines.slice(0, count)),
          file: 'f',
        })
        const all = { ...file(lines.length), format: 'claude-code' as const }
        const whole = importFile(all)
        const both = importFile(
          all,
          importFile({ ...file(Math.min(cut, lines.length)), format: 'claude-code' }),
        )
        for (const [id, log] of logsOf(whole)) {
          const other = logsOf(both).get(id) ?? []
          expect(shownIn(other)).toEqual(shownIn(log))
          expect(violations({ rendered: render(effective(log)) })).toEqual([])
        }
        expect(importFile(all, both)).toEqual(both)
      }),
      { numRuns: runs(500) },
    )
  })
})
