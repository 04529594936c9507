import { readFileSync } from 'node:fs'
import { type ConversationEvent, openStore } from 'palimpsest'
import { describe, expect, test } from 'vitest'
import { fieldsOf, messagesOf } from '../../../src/projections/effective.ts'
import type { Item } from '../../../src/projections/effective.ts'
import type { clients } from '../../../src/transfer/formats/sessions/clients.ts'
import { type Origin, present, sessionFile } from '../../support/sessions.ts'
import { opened } from '../../support/stores.ts'

const sayings = (items: readonly Item[]) =>
  items.flatMap((item) =>
    messagesOf(item).map((message) => ({
      role: message.role,
      content: message.content,
      fields: fieldsOf(item, message),
    })),
  )

const files: readonly (readonly [Origin, string])[] = [
  ['sample', 'claude-code/session-with-compaction.jsonl'],
  ['sample', 'pi/before-compaction.jsonl'],
  ['real', 'claude-code/session-with-compaction.jsonl'],
]

describe('a session that is continued in its own program', () => {
  test.each(present(files))('%s %s: is the lines of its file, up to the position', async (origin, name) => {
    const { text } = sessionFile(origin, name)
    const store = await opened('memory:')
    const { conversations, format } = await store.importSession({ file: name, text })
    const chat = store.conversation(conversations[0]?.id ?? '')
    const last = await chat.position()
    const own = text.split('\n')
    let verbatim = 0
    for (const at of origin === 'real' ? [last] : [last, Math.floor(last / 2), Math.floor(last / 4), 4]) {
      const session = await chat.session({ format: format as keyof typeof clients, at, cwd: '/work' })
      const lines = [...session.lines].join('')
      if (session.way === 'verbatim') {
        verbatim++
        const copied = lines.split('\n').slice(0, -1)
        const changed = copied.filter((line, index) => line.replaceAll(session.id, chat.id) !== own[index])
        // pi's header has the folder, too.
        expect(changed.length).toBeLessThanOrEqual(format === 'pi' ? 1 : 0)
        const again = await openStore('memory:')
        await again.importSession({ file: name, text: lines, format })
        const copy = await again.conversation(session.id).effective()
        expect(sayings(copy)).toEqual(sayings(await chat.effective({ at })))
        await again.close()
      }
    }
    expect(verbatim).toBeGreaterThan(0)
  })

  test('is written anew once somebody has changed what the model sees, or leaves something out', async () => {
    const { text } = sessionFile('sample', 'pi/before-compaction.jsonl')
    const store = await opened('memory:')
    const { conversations } = await store.importSession({ file: 'a.jsonl', text })
    const chat = store.conversation(conversations[0]?.id ?? '')
    const wayAt = async (at?: number) => (await chat.session({ format: 'pi', at, cwd: '/' })).way
    const early = 4
    expect(await wayAt(early)).toBe('verbatim')
    expect((await chat.session({ format: 'codex', at: early, cwd: '/' })).way).toBe('rendered')
    await chat.rewind({ to: early })
    expect(await wayAt()).toBe('verbatim')
    await chat.append({ role: 'user', content: 'more' })
    expect([await wayAt(), await wayAt(early)]).toEqual(['rendered', 'verbatim'])
    await chat.erase({ positions: [await chat.position()] })
    expect(await wayAt(early)).toBe('rendered')
  })

  const imported = async (file: string) => {
    const text = readFileSync(new URL(`../../samples/clients/${file}`, import.meta.url), 'utf8')
    const store = await opened('memory:')
    const { conversations } = await store.importSession({ file, text })
    const chat = store.conversation(conversations[0]?.id ?? '')
    const events: ConversationEvent[] = []
    for await (const event of chat.events({})) events.push(event)
    return { chat, events }
  }

  test('of Codex has the lines up to the next message, so that Codex does not repeat the environment', async () => {
    const { chat, events } = await imported('codex.session.jsonl')
    const at = events.find(({ type }) => type === 'Condensed')?.position
    const { way, lines } = await chat.session({ format: 'codex', at, cwd: '/' })
    const types = [...lines].map((line) => (JSON.parse(line) as { readonly type: string }).type)
    expect(way).toBe('verbatim')
    expect(types.slice(types.indexOf('compacted'))).toContain('turn_context')
    expect(types.at(-1)).not.toBe('response_item')
  })

  test('of pi is copied also after a reply that failed, which pi does not send', async () => {
    const { chat, events } = await imported('pi.session.jsonl')
    const failed = events.find(({ type, data }) => type === 'MessageAppended' && data.content.length === 0)
    const at = failed?.position ?? -1
    const waysAt = [at, at + 1, at + 2].map(
      async (each) => (await chat.session({ format: 'pi', at: each, cwd: '/' })).way,
    )
    expect(events[at + 1]?.type).toBe('Truncated')
    expect(await Promise.all(waysAt)).toEqual(['verbatim', 'verbatim', 'verbatim'])
  })
})
