import { describe, expect, it } from 'vitest'
import type { ImportReport } from '../../../src/transfer/formats/plan.ts'
import { importFile, jsonl, onlyLog, planOf, shownIn } from '../../support/import-log.ts'

interface Fields {
  readonly [field: string]: unknown
}
const entry = (fields: Fields): Fields => ({ sessionId: 's', ...fields })
const user = (uuid: string, parentUuid: string | null, content: unknown = uuid, more: Fields = {}): Fields =>
  entry({ uuid, parentUuid, type: 'user', message: { role: 'user', content }, ...more })
const assistant = (uuid: string, parentUuid: string, block: unknown, id = `m-${uuid}`): Fields =>
  entry({ uuid, parentUuid, type: 'assistant', message: { id, role: 'assistant', content: [block] } })
const call = (id: string): Fields => ({ type: 'tool_use', id, name: 'run', input: {} })
const result = (id: string): readonly Fields[] => [{ type: 'tool_result', tool_use_id: id, content: 'ok' }]
const text = (value: string): Fields => ({ type: 'text', text: value })
const queue = (operation: string, more: Fields = {}): Fields =>
  entry({ type: 'queue-operation', operation, ...more })
const typed = (content: string): Fields => queue('enqueue', { content })
const queued = (uuid: string, parentUuid: string, prompt: unknown, commandMode = 'prompt'): Fields =>
  entry({ uuid, parentUuid, type: 'attachment', attachment: { type: 'queued_command', prompt, commandMode } })

/** Entries stand in the order of time, a second apart, but for those that have a time. */
const file = (...entries: readonly Fields[]): { readonly text: string; readonly file: string } => ({
  text: jsonl(
    ...entries.map((fields, index) => ({
      timestamp: new Date(Date.UTC(2026, 0, 1) + index * 1000).toISOString(),
      ...fields,
    })),
  ),
  file: 'f',
})
/** What is shown at the end: texts, and the ids of calls and results. */
const shown = (...entries: readonly Fields[]): readonly string[] =>
  shownIn(onlyLog(importFile(file(...entries)))).flatMap((item) =>
    ((item as { readonly content?: readonly Fields[] }).content ?? []).map(
      ({ text: said, id, tool_use_id: of }) =>
        [said, id].find((each) => typeof each === 'string') ?? `result of ${String(of)}`,
    ),
  )
const report = (...entries: readonly Fields[]): ImportReport => planOf(file(...entries)).report
const counted = (tallies: ImportReport['leftOut'] | ImportReport['mapped']): readonly string[] =>
  tallies.map(({ kind, count }) => `${count} ${kind}`)

const asked = [user('u', null), assistant('a', 'u', call('x'))]
const answered = [user('r', 'a', result('x')), assistant('b', 'r', text('done'))]
const notice = '<task-notification>\n<status>completed</status>\n</task-notification>'

describe('Claude Code: a prompt typed while the agent works', () => {
  it('is a message behind the tool results, before what the model said next', () => {
    expect(shown(...asked, typed('stop'), queue('remove'), ...answered)).toEqual([
      'u',
      'x',
      'result of x',
      'stop',
      'done',
    ])
    expect(counted(report(...asked, typed('stop'), queue('remove'), ...answered).mapped)).toContain(
      '1 queued prompt',
    )
  })

  it('stands where its attachment does, and is there once', () => {
    const attached = [
      user('r', 'a', result('x')),
      queued('q', 'r', 'stop'),
      assistant('b', 'q', text('done')),
    ]
    const all = ['u', 'x', 'result of x', 'stop', 'done']
    expect(shown(...asked, typed('stop'), queue('remove'), ...attached)).toEqual(all)
    expect(
      shown(...asked, typed('stop'), ...attached.slice(0, 2), queue('remove'), ...attached.slice(2)),
    ).toEqual(all)
    expect(shown(...asked, ...attached)).toEqual(all)
    const again = [typed('more'), queue('remove'), ...attached]
    expect(shown(...asked, typed('stop'), queue('remove'), ...again)).toEqual([
      ...all.slice(0, 4),
      'more',
      'done',
    ])
  })

  it('follows all results of parallel calls, and the lines of the reply that asks for them', () => {
    const all = [
      user('u', null),
      assistant('a1', 'u', text('Two.'), 'm'),
      typed('stop'),
      queue('remove'),
      { ...assistant('a2', 'a1', call('x'), 'm'), timestamp: '2026-01-01T00:00:00.000Z' },
      assistant('a3', 'a2', call('y'), 'm'),
      user('r1', 'a2', result('x')),
      user('r2', 'a3', result('y')),
      assistant('b', 'r2', text('done')),
    ]
    expect(shown(...all)).toEqual(['u', 'Two.', 'x', 'y', 'result of x', 'result of y', 'stop', 'done'])
  })

  it('is there also if the user breaks the turn off, the session is compacted or the file ends', () => {
    const sent = [...asked, typed('stop'), queue('remove'), user('r', 'a', result('x'))]
    expect(shown(...sent)).toEqual(['u', 'x', 'result of x', 'stop'])
    expect(shown(...sent, user('i', 'r', 'enough'))).toEqual(['u', 'x', 'result of x', 'stop', 'enough'])
    const boundary = entry({ uuid: 'c', type: 'system', subtype: 'compact_boundary', logicalParentUuid: 'r' })
    const log = onlyLog(
      importFile(file(...sent, boundary, user('s', 'c', 'Summary.', { isCompactSummary: true }))),
    )
    expect(log.at(-1)).toMatchObject({ type: 'Condensed', data: { messagesHidden: 4 } })
  })

  it('that is sent as an entry of its own is not doubled', () => {
    const after = [...asked, ...answered]
    expect(shown(...after, typed('more'), queue('dequeue'), user('v', 'b', 'more'))).toEqual([
      'u',
      'x',
      'result of x',
      'done',
      'more',
    ])
    // Some versions record the entry alone.
    const entries = [
      ...asked,
      typed('stop'),
      typed('more'),
      user('r', 'a', result('x')),
      user('v', 'r', 'stop'),
    ]
    expect(
      shown(...entries, assistant('b', 'v', call('y')), queue('remove'), user('q', 'b', result('y'))),
    ).toEqual(['u', 'x', 'result of x', 'stop', 'y', 'result of y', 'more'])
  })

  it('that is taken back is left out, and reported', () => {
    const back = [
      [...asked, typed('stop'), queue('popAll', { content: 'stop' }), ...answered],
      [...asked, typed('stop'), ...answered],
      [...asked, typed('stop'), queue('remove', { content: 'stop', reason: 'cancelled' }), ...answered],
      [user('u', null), typed('stop'), queue('remove'), assistant('a', 'u', text('done'))],
    ]
    for (const entries of back) {
      expect(shown(...entries)).not.toContain('stop')
      expect(counted(report(...entries).leftOut)).toContain('1 queued prompt')
    }
  })

  it('that left the queue long before a result came is left out, unless the file says that it was sent', () => {
    const late = (at: string): readonly Fields[] =>
      answered.map((fields) => ({ ...fields, timestamp: `2026-01-01T00:${at}.000Z` }))
    const left = [...asked, typed('stop'), queue('remove')]
    expect(shown(...left, ...late('05:00'))).toEqual(['u', 'x', 'result of x', 'done'])
    expect(counted(report(...left, ...late('05:00')).leftOut)).toContain('1 queued prompt')
    expect(shown(...left, ...late('00:09'))).toContain('stop')
    const certain = queue('remove', { content: 'stop', reason: 'absorbed_mid_turn' })
    expect(shown(...asked, typed('stop'), certain, ...late('05:00'))).toContain('stop')
    // The queue is emptied after the results, however long the tool ran.
    const [ran = {}, done = {}] = late('05:00')
    const after = { ...queue('remove'), timestamp: '2026-01-01T00:05:00.010Z' }
    expect(
      shown(...asked, typed('stop'), after, ran, { ...done, timestamp: '2026-01-01T00:05:02.000Z' }),
    ).toContain('stop')
  })

  it('is the one that the queue names, or the first', () => {
    const two = [...asked, typed('one'), typed('two')]
    expect(shown(...two, queue('remove', { content: 'two' }), ...answered)).toEqual([
      'u',
      'x',
      'result of x',
      'two',
      'done',
    ])
    expect(shown(...two, queue('remove'), ...answered)[3]).toBe('one')
    expect(report(...two, queue('remove'), ...answered).notes).toEqual([
      expect.stringContaining('which of several queued prompts'),
    ])
    const absorbed = queue('remove', { content: 'one', reason: 'absorbed_mid_turn' })
    expect(shown(user('u', null), typed('one'), absorbed, assistant('a', 'u', text('done')))).toEqual([
      'u',
      'one',
      'done',
    ])
  })

  it('may be blocks, and words that cannot be stored are a bad line', () => {
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } }
    const blocks = [text('look'), image]
    const log = onlyLog(
      importFile(file(...asked, queue('enqueue', { content: blocks }), queue('remove'), ...answered)),
    )
    expect(log[3]).toMatchObject({ data: { role: 'user', content: blocks } })
    const bad = [queue('enqueue', { content: 7 }), queued('q', 'a', 7), queue('enqueue')]
    expect(planOf({ ...file(...asked, ...bad), skipBadLines: true }).report).toMatchObject({
      badLines: [{ line: 3 }, { line: 4 }],
      leftOut: [{ reason: 'its text is not recorded' }],
    })
  })
})

describe('Claude Code: the notice of a background task', () => {
  it('is a message where it was sent, as an attachment or from the queue', () => {
    const all = ['u', 'x', 'result of x', notice, 'done']
    expect(shown(...asked, typed(notice), queue('remove'), ...answered)).toEqual(all)
    const attached = queued('q', 'r', notice, 'task-notification')
    const entries = [...asked, user('r', 'a', result('x')), attached, assistant('b', 'q', text('done'))]
    expect(shown(...entries)).toEqual(all)
    expect(counted(report(...entries).mapped)).toContain('1 queued notice')
  })

  it.each([
    ['a prompt', 'stop'],
    ['a notice', notice],
  ])('is not shown for the record that a task began, which is queued before %s', (_, said) => {
    const record = JSON.stringify({ task_id: 'b1', tool_use_id: 'x', task_type: 'local_bash' })
    const all = [...asked, typed(record), typed(said), queue('remove'), ...answered, queue('remove')]
    expect(shown(...all)).toEqual(['u', 'x', 'result of x', said, 'done'])
    expect(counted(report(...all).leftOut)).toContain('1 task record')
    expect(report(...all).notes).toEqual([])
    const alone = [...asked, typed(record), queue('remove'), ...answered, typed(record)]
    expect(shown(...alone)).toEqual(['u', 'x', 'result of x', 'done'])
    expect(counted(report(...alone).leftOut)).toContain('2 task record')
  })

  it('lets a prompt go first', () => {
    const entries = [...asked, typed(notice), typed('stop'), queue('remove'), ...answered]
    expect(shown(...entries)).toEqual(['u', 'x', 'result of x', 'stop', 'done'])
    expect(counted(report(...entries).leftOut)).toContain('1 queued notice')
  })
})

describe('Claude Code: a file imported while it grows', () => {
  it('ends as the whole file does, wherever it was cut', () => {
    const entries = [
      ...asked,
      typed('one'),
      assistant('a2', 'a', call('y'), 'm-a'),
      queue('remove'),
      user('r1', 'a', result('x')),
      user('r2', 'a2', result('y')),
      assistant('b', 'r2', text('done')),
      typed('two'),
      queue('dequeue'),
      user('v', 'b', 'two'),
      user('late', 'early', 'behind its parent'),
      user('early', 'v'),
      assistant('c', 'late', text('done again')),
    ]
    const whole = importFile(file(...entries))
    for (let cut = 1; cut < entries.length; cut++)
      for (let next = cut; next <= entries.length; next++) {
        const parts = importFile(file(...entries.slice(0, next)), importFile(file(...entries.slice(0, cut))))
        const both = importFile(file(...entries), parts)
        expect(shownIn(onlyLog(both)), `cut at ${cut} and ${next}`).toEqual(shownIn(onlyLog(whole)))
        expect(importFile(file(...entries), both)).toEqual(both)
      }
  })

  it('ends as the whole file does where the queue alone told too early what was sent', () => {
    const early = [...asked, typed('stop'), queue('remove'), user('r', 'a', result('x'))]
    const known = importFile(file(...early))
    expect(shownIn(onlyLog(known))).toHaveLength(4)
    for (const later of [queued('q', 'r', 'stop'), user('v', 'r', 'stop')]) {
      const whole = file(...early, later)
      expect(shownIn(onlyLog(importFile(whole, known)))).toEqual(shownIn(onlyLog(importFile(whole))))
    }
  })
})
