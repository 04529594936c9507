import { describe, expect, it } from 'vitest'
import { isBlock } from '../../../src/events/blocks.ts'
import { contentOf } from '../../../src/events/events.ts'
import { parseSession } from '../../../src/transfer/formats/parse-session.ts'
import { effective } from '../../../src/projections/effective.ts'
import type { Log } from '../../../src/projections/path.ts'
import { render } from '../../../src/projections/render/render.ts'
import { right } from '../../support/either.ts'
import { importFile, logsOf, planOf, shownIn } from '../../support/import-log.ts'
import { violations } from '../../support/predicates.ts'
import { some } from '../../support/runs.ts'
import { present, sessionFile } from '../../support/sessions.ts'

interface Line {
  readonly type?: string
  readonly isCompactSummary?: boolean
  readonly operation?: string
  readonly attachment?: { readonly type?: string }
  readonly message?: { readonly id?: string; readonly role?: string }
}
const lines = (text: string): readonly Line[] =>
  text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Line)

// How a person counts: assistant messages by id, user entries one by one, the summary of a compaction apart; what was sent in the
// middle of a turn, by its attachment or, in older files, by the queue that it left; and other attachments whose text is recorded.
const texts = new Set<unknown>(['hook_additional_context', 'mcp_instructions_delta', 'skill_listing'])
const claudeCode = (text: string): number => {
  const said = lines(text).filter(
    ({ type, isCompactSummary }) => type === 'user' && isCompactSummary !== true,
  )
  const attached = lines(text).filter(({ attachment }) => attachment?.type === 'queued_command')
  const removed = lines(text).filter(({ operation }) => operation === 'remove')
  const told = lines(text).filter(({ attachment }) => texts.has(attachment?.type))
  return (
    said.length +
    told.length +
    Math.max(attached.length, removed.length) +
    new Set(lines(text).flatMap(({ type, message }) => (type === 'assistant' ? [message?.id] : []))).size
  )
}
const pi = (text: string): number => lines(text).filter(({ type }) => type === 'message').length
const tau = (text: string): number =>
  (JSON.parse(text) as readonly { readonly traj: readonly Line['message'][] }[])
    .flatMap(({ traj }) => traj)
    .filter((message) => message?.role !== 'system').length

const messagesOf = (log: Log): number => log.filter(({ type }) => type === 'MessageAppended').length

/** Calls without a result, and results without a call, each in the order of the log. */
const unpaired = (log: Log): { readonly calls: readonly string[]; readonly results: readonly string[] } => {
  const open: string[] = []
  const results: string[] = []
  const said = log.filter(({ type }) => type === 'MessageAppended')
  for (const block of said.flatMap((event) => contentOf(event).flatMap(({ content }) => content))) {
    if (isBlock(block, 'tool_use')) open.push(block.id)
    if (!isBlock(block, 'tool_result')) continue
    const at = open.indexOf(block.tool_use_id)
    if (at < 0) results.push(block.tool_use_id)
    else open.splice(at, 1)
  }
  return { calls: open, results }
}

const subagents = 'claude-code/session-with-compaction.subagents'
const files = present([
  ['sample', 'claude-code/session-with-compaction.jsonl', 'claude-code', claudeCode, 21, 0],
  ['sample', `${subagents}/agent-a51c09e.jsonl`, 'claude-code', claudeCode, 9, 0],
  ['sample', `${subagents}/agent-acompact-51c09e.jsonl`, 'claude-code', claudeCode, 4, 0],
  ['sample', 'claude-code/short.jsonl', 'claude-code', claudeCode, 6, 0],
  ['sample', 'claude-code/tool-heavy.jsonl', 'claude-code', claudeCode, 19, 0],
  ['sample', 'claude-code/queued-prompts.jsonl', 'claude-code', claudeCode, 19, 0],
  ['sample', 'claude-code/microcompact.jsonl', 'claude-code', claudeCode, 17, 0],
  // One call was never answered: the user broke off.
  ['sample', 'pi/before-compaction.jsonl', 'pi', pi, 27, 1],
  ['sample', 'tau-bench/tea-shop.json', 'openai', tau, 16, 0],
  ['real', 'claude-code/session-with-compaction.jsonl', 'claude-code', claudeCode, 322, 0],
  ['real', `${subagents}/agent-a7be2f0.jsonl`, 'claude-code', claudeCode, 33, 0],
  ['real', `${subagents}/agent-acompact-f46190.jsonl`, 'claude-code', claudeCode, 7, 0],
  ['real', 'claude-code/short.jsonl', 'claude-code', claudeCode, 5, 0],
  ['real', 'claude-code/tool-heavy.jsonl', 'claude-code', claudeCode, 18, 0],
  ['real', 'claude-code/queued-prompts.jsonl', 'claude-code', claudeCode, 87, 0],
  ['real', 'claude-code/microcompact.jsonl', 'claude-code', claudeCode, 118, 0],
  ['real', 'pi/before-compaction.jsonl', 'pi', pi, 990, 6],
  ['real', 'tau-bench/gpt-4o-airline-40.json', 'openai', tau, 1_182, 0],
] as const)

/** Archives that an import of one file alone leaves, by the file. */
const archives = new Map<string, ReturnType<typeof importFile>>()
const archiveOf = (...session: Parameters<typeof sessionFile>): ReturnType<typeof importFile> => {
  const known = archives.get(session.join())
  if (known) return known
  const archive = importFile(sessionFile(...session))
  archives.set(session.join(), archive)
  return archive
}

describe('sessions as they are recorded', () => {
  it.each(files)(
    '%s %s: every message is there, and the calls have their results',
    (origin, name, format, count, expected, open) => {
      const file = sessionFile(origin, name)
      expect(planOf(file).format).toBe(format)
      const logs = [...logsOf(archiveOf(origin, name)).values()]
      const messages = logs.reduce((sum, log) => sum + messagesOf(log), 0)
      expect(messages).toBe(count(file.text))
      expect(messages).toBe(expected)
      expect(logs.flatMap((log) => unpaired(log).results)).toEqual([])
      expect(logs.flatMap((log) => unpaired(log).calls)).toHaveLength(open)
    },
  )

  it.each(files)('%s %s: every entry is mapped or left out for a reason', (origin, name, format) => {
    const file = sessionFile(origin, name)
    const { mapped, leftOut, badLines } = planOf(file).report
    expect(badLines).toEqual([])
    if (format === 'openai') return
    const total = [...mapped, ...leftOut].reduce((sum, { count }) => sum + count, 0)
    expect(total).toBe(lines(file.text).length)
    expect(leftOut.filter(({ reason }) => reason.includes('does not know'))).toEqual([])
  })

  it.each(files)('%s %s: the request is valid all along', (origin, name) => {
    for (const log of logsOf(archiveOf(origin, name)).values())
      for (const { position: at } of some(log.length > 100 ? log.filter((_, n) => n % 7 === 0) : log))
        expect(violations({ rendered: render(effective(log, at)) }), `at ${at}`).toEqual([])
  })

  it.each(files)('%s %s: a second import adds nothing', (origin, name) => {
    const file = sessionFile(origin, name)
    const archive = archiveOf(origin, name)
    expect(importFile(file, archive)).toEqual(archive)
  })

  it.each(files.filter(([, , format]) => format !== 'openai'))(
    '%s %s: imported as it grew, the end is the same as imported at once',
    (origin, name) => {
      const file = sessionFile(origin, name)
      const all = file.text.trimEnd().split('\n')
      const whole = logsOf(archiveOf(origin, name))
      const cuts = [0.1, 0.23, 0.4, 0.55, 0.71, 0.9].map((share) => Math.ceil(all.length * share))
      let archive = new Map() as ReturnType<typeof importFile>
      for (const cut of [...some(cuts), all.length])
        archive = importFile({ ...file, text: `${all.slice(0, cut).join('\n')}\n` }, archive)
      for (const [id, log] of logsOf(archive)) expect(shownIn(log)).toEqual(shownIn(whole.get(id) ?? []))
      expect(archive.size).toBe(whole.size)
    },
  )

  it.each(
    present([
      ['sample', 4],
      ['real', 11],
    ] as const),
  )(
    '%s claude-code/microcompact.jsonl: results that the client cleared are edits in place',
    (origin, cleared) => {
      const [log = []] = logsOf(archiveOf(origin, 'claude-code/microcompact.jsonl')).values()
      const edits = log.filter(
        (event) => event.type === 'Condensed' && event.data.covers.first === event.data.covers.last,
      )
      expect(edits).toHaveLength(cleared)
      expect(log.filter(({ type }) => type === 'Rewound')).toEqual([])
    },
  )

  it.each(
    present([
      ['sample', 9_000],
      ['real', 100_000],
    ] as const),
  )('%s: a torn line stops the import, with its file and line', (origin, length) => {
    const file = sessionFile(origin, 'pi/before-compaction.jsonl')
    const torn = { ...file, text: file.text.slice(0, length) }
    const line = torn.text.split('\n').length
    expect(parseSession(torn)).toMatchObject({ left: { _tag: 'BadLine', file: file.file, line } })
    const skipped = right(parseSession({ ...torn, skipBadLines: true }))
    expect(skipped.report.badLines).toMatchObject([{ line }])
  })
})
