import { describe, expect, it } from 'vitest'
import { render } from '../../../src/projections/render/render.ts'
import { effective } from '../../../src/projections/effective.ts'
import { importFile, jsonl, onlyLog, planOf, shownIn } from '../../support/import-log.ts'
import { violations } from '../../support/predicates.ts'

interface Fields {
  readonly [field: string]: unknown
}
const entry = (uuid: string, parentUuid: string | null, more: Fields): Fields => ({
  uuid,
  parentUuid,
  sessionId: 's',
  ...more,
})
const said = (role: 'user' | 'assistant', uuid: string, parent: string | null, content: unknown): Fields =>
  entry(uuid, parent, { type: role, message: { id: `m-${uuid}`, role, content } })
const attached = (uuid: string, parent: string | null, attachment: Fields, more: Fields = {}): Fields =>
  entry(uuid, parent, { type: 'attachment', attachment, ...more })
const file = (...entries: readonly Fields[]): { readonly text: string; readonly file: string } => ({
  text: jsonl(...entries),
  file: 'f',
})
const text = (value: string): Fields => ({ type: 'text', text: value })
const call = (id: string): Fields => ({ type: 'tool_use', id, name: 'run', input: {} })
const result = (id: string): Fields => ({ type: 'tool_result', tool_use_id: id, content: 'ok' })

/** The content that the model sees of an attachment after a prompt; undefined if it sees none. */
const seen = (attachment: Fields, more: Fields = {}): unknown => {
  const asked = said('user', 'q', null, 'look')
  const log = onlyLog(importFile(file(asked, attached('t', 'q', attachment, more))))
  return (shownIn(log)[1] as { readonly content?: unknown } | undefined)?.content
}
const reminder = (value: string): readonly Fields[] => [
  text(`<system-reminder>\n${value}\n</system-reminder>`),
]

describe('Claude Code: attachments', () => {
  const data = 'AAAA'
  it.each([
    [
      { type: 'file', filename: 'a.txt', content: { type: 'text', file: { content: 'secret 42' } } },
      reminder('a.txt:\nsecret 42'),
    ],
    [{ type: 'directory', path: 'src', content: 'a.ts\nb.ts' }, reminder('src:\na.ts\nb.ts')],
    [
      { type: 'nested_memory', path: 'CLAUDE.md', content: { path: 'CLAUDE.md', content: 'Be brief.' } },
      reminder('CLAUDE.md:\nBe brief.'),
    ],
    [
      {
        type: 'mcp_resource',
        server: 'docs',
        uri: 'docs://a',
        content: { contents: [{ uri: 'docs://a', text: 'Read me.' }] },
      },
      reminder('docs://a:\nRead me.'),
    ],
    [
      { type: 'hook_additional_context', hookName: 'UserPromptSubmit', content: ['one', 'two'] },
      reminder('UserPromptSubmit hook additional context:\none\ntwo'),
    ],
    [
      {
        type: 'hook_blocking_error',
        hookName: 'Stop',
        blockingError: { command: 'check', blockingError: 'not yet' },
      },
      reminder('Stop hook blocking error:\nnot yet'),
    ],
    [
      { type: 'hook_success', hookName: 'SessionStart', hookEvent: 'SessionStart', content: 'hello' },
      reminder('SessionStart hook success:\nhello'),
    ],
    [
      {
        type: 'async_hook_response',
        response: { systemMessage: 'done', hookSpecificOutput: { additionalContext: 'more' } },
      },
      [...reminder('done'), ...reminder('more')],
    ],
    [{ type: 'skill_listing', content: '- tea: how to make it' }, reminder('Skills:\n- tea: how to make it')],
    [
      { type: 'invoked_skills', skills: [{ name: 'tea', path: 'p', content: 'Boil water.' }] },
      reminder('tea\nBoil water.'),
    ],
    [
      { type: 'edited_text_file', filename: 'a.ts', snippet: '1→const a = 1' },
      reminder('a.ts was changed:\n1→const a = 1'),
    ],
    [
      { type: 'selected_lines_in_ide', filename: 'a.ts', lineStart: 1, lineEnd: 2, content: 'const a' },
      reminder('Selected in a.ts:\nconst a'),
    ],
    [
      {
        type: 'diagnostics',
        files: [
          {
            uri: 'file:///a.ts',
            diagnostics: [{ message: 'No.', severity: 'Error', range: { start: { line: 2 } } }],
          },
        ],
      },
      reminder('New diagnostics in file:///a.ts:\nline 3: Error: No.'),
    ],
    [
      { type: 'mcp_instructions_delta', addedNames: ['x'], addedBlocks: ['## x'], removedNames: ['y'] },
      [...reminder('MCP servers added:\n## x'), ...reminder('MCP servers removed:\ny')],
    ],
    [
      {
        type: 'file',
        filename: 'a.png',
        content: { type: 'image', file: { base64: data, type: 'image/png' } },
      },
      [...reminder('a.png:'), { type: 'image', source: { type: 'base64', media_type: 'image/png', data } }],
    ],
  ])('whose text is recorded are messages: %j', (attachment, content) => {
    expect(seen(attachment)).toEqual(content)
    const { report } = planOf(file(said('user', 'q', null, 'look'), attached('t', 'q', attachment)))
    expect(report.leftOut).toEqual([])
    expect(report.mapped).toContainEqual({ kind: `attachment ${attachment.type}`, count: 1 })
    expect(report.notes).toEqual([expect.stringContaining('without the text of the client')])
  })

  it('that newer versions record as they were sent are exactly that', () => {
    const plan = { type: 'plan_mode', reminderType: 'full' }
    expect(seen(plan, { rendered: 'Plan first.' })).toEqual([text('Plan first.')])
    expect(seen(plan, { rendered: [{ role: 'user', content: [text('Plan.')] }] })).toEqual([text('Plan.')])
    expect(seen({ ...plan, rendered: [text('Plan.')] })).toEqual([text('Plan.')])
    expect(seen(plan, { rendered: '' })).toBeUndefined()
    const entries = [
      said('user', 'q', null, 'look'),
      attached('t', 'q', plan, { rendered: 'Plan first.', renderedRole: 'system' }),
    ]
    expect(shownIn(onlyLog(importFile(file(...entries))))[1]).toMatchObject({ role: 'system' })
    expect(planOf(file(...entries)).report.notes).toEqual([])
  })

  it('that the model does not see are left out, and those whose text is not recorded are noted', () => {
    const silent = [
      { type: 'hook_system_message', content: 'for the user' },
      { type: 'hook_success', hookName: 'Stop', hookEvent: 'Stop', content: 'fine' },
      { type: 'hook_additional_context', hookName: 'Stop', content: [] },
    ]
    for (const attachment of silent) {
      expect(seen(attachment)).toBeUndefined()
      const { report } = planOf(file(said('user', 'q', null, 'look'), attached('t', 'q', attachment)))
      expect(report).toMatchObject({ leftOut: [{ kind: `attachment ${attachment.type}` }], notes: [] })
    }
    const worded = file(said('user', 'q', null, 'look'), attached('t', 'q', { type: 'plan_mode' }))
    expect(planOf(worded).report).toMatchObject({
      leftOut: [{ kind: 'attachment plan_mode', reason: expect.stringContaining('not recorded') as unknown }],
      notes: [expect.stringContaining('more than the file records')],
    })
  })

  it('stay with the tool results that they come with, and part no reply', () => {
    const hook = (of: string): Fields => ({ type: 'hook_additional_context', hookName: of, content: [of] })
    const entries = [
      attached('t0', null, hook('SessionStart')),
      said('user', 'q', 't0', 'go'),
      said('assistant', 'a1', 'q', [call('x')]),
      attached('t1', 'a1', hook('PreToolUse')),
      {
        ...said('assistant', 'a2', 'a1', [call('y')]),
        message: { id: 'm-a1', role: 'assistant', content: [call('y')] },
      },
      said('user', 'r1', 'a1', [result('x')]),
      attached('t2', 'r1', hook('PostToolUse')),
      said('user', 'r2', 'a2', [result('y')]),
      said('assistant', 'b', 't2', [text('Done.')]),
    ]
    const log = onlyLog(importFile(file(...entries)))
    expect(log.map(({ type }) => type)).toEqual(Array.from({ length: 8 }, () => 'MessageAppended'))
    expect(shownIn(log)[2]).toEqual({ role: 'assistant', content: [call('x'), call('y')] })
    for (let at = 0; at < log.length; at++)
      expect(violations({ rendered: render(effective(log, at)) }), `at ${at}`).toEqual([])
  })

  it('are taken in where an earlier version of the importer left them out', () => {
    const entries = [
      said('user', 'q', null, 'look'),
      attached('t', 'q', { type: 'skill_listing', content: 'tea' }),
      said('assistant', 'a', 't', [text('A')]),
    ]
    const earlier = importFile(file(...entries.map((fields) => ({ ...fields, attachment: undefined }))))
    expect(shownIn(onlyLog(earlier))).toHaveLength(2)
    expect(shownIn(onlyLog(importFile(file(...entries), earlier)))).toEqual(
      shownIn(onlyLog(importFile(file(...entries)))),
    )
  })
})
