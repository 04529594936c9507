import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import {
  type AgentSessionStore,
  sessionConversation,
  type SessionEntry,
  type SessionKey,
  sessionStore,
  withSessionStore,
} from '../../src/frameworks/claude-agent-sdk.ts'
import { mergeLines, toLine } from '../../src/frameworks/session-lines.ts'
import { isError, type PalimpsestError, type Store } from '../../src/index.ts'
import { ended, endsWithTest, start } from '../support/node.ts'
import { runs } from '../support/runs.ts'
import { opened, temporaryFolder } from '../support/stores.ts'
import { line, lines } from './children/session-entries.ts'

const key: SessionKey = { projectKey: 'p', sessionId: 's' }
const id = sessionConversation(key)

/** A session store that finds no transcript on this machine but those of the folder. */
const sessionsOf = (store: Store, configFolder = temporaryFolder()): AgentSessionStore =>
  sessionStore(store, {
    configFolder,
    onProblem: (error) => {
      // A test that does not wait for the conversation ends before it is there.
      if (error._tag !== 'StoreClosed') throw error
    },
  })

const writeTranscript = (folder: string, entries: readonly object[], name = 's'): void => {
  const path = join(folder, 'projects', 'p', `${name}.jsonl`)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, entries.map((entry) => `${JSON.stringify(entry)}\n`).join(''))
}
const uuids = (entries: readonly SessionEntry[] | null): readonly unknown[] =>
  (entries ?? []).map(({ uuid }) => uuid)

const tagOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'done',
    (error: unknown) => (isError(error) ? error._tag : String(error)),
  )

describe('keys', () => {
  const name = fc.oneof(
    fc.string({ unit: 'grapheme' }),
    fc.constantFrom('.', '..', 'a:b', 'a/b', '-home-ann'),
  )
  const anyKey = fc.record(
    {
      projectKey: fc.oneof(name, fc.string({ minLength: 60, maxLength: 300 })),
      sessionId: fc.oneof(fc.uuid(), name),
      subpath: fc.oneof(name, fc.constantFrom('subagents/agent-a1', 'a1', 'subagents/w/agent-a1')),
    },
    { requiredKeys: ['projectKey', 'sessionId'] },
  )

  test('that differ are different conversations', () => {
    fc.assert(
      fc.property(anyKey, anyKey, (one, other) => {
        const [first, second] = [one, other].map((each) => {
          try {
            return sessionConversation(each)
          } catch (error) {
            if (!isError(error, 'InvalidInput')) throw error
            return undefined
          }
        })
        fc.pre(first !== undefined && second !== undefined)
        const isSame =
          one.projectKey === other.projectKey &&
          one.sessionId === other.sessionId &&
          one.subpath === other.subpath
        expect(first === second).toBe(isSame)
      }),
      { numRuns: runs(3_000) },
    )
  })

  test('without a session, or too long for an id, are refused', () => {
    for (const sessionId of ['', 'x'.repeat(200)])
      expect(() => sessionConversation({ projectKey: 'p', sessionId })).toThrow('must have a session id')
  })
})

describe('merging', () => {
  test('adds what a copy has more where the copy has it, and moves nothing', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.constantFrom('stored', 'copy', 'both'), fc.boolean()), { maxLength: 20 }),
        (parts) => {
          const all = parts.map(([where, isNamed], index) => ({
            where,
            ...toLine(isNamed ? { type: 'user', uuid: `u${index}` } : { type: 'mode', mode: index }),
          }))
          const stored = all.filter(({ where }) => where !== 'copy')
          const copy = all.filter(({ where }) => where !== 'stored')
          const merged = mergeLines(stored, copy)
          const texts = merged.map(({ text }) => text)
          expect(texts.toSorted()).toEqual(all.map(({ text }) => text).toSorted())
          expect(merged.filter((each) => stored.includes(each as never))).toEqual(stored)
          const inCopy = new Set(copy.map(({ text }) => text))
          expect(texts.filter((text) => inCopy.has(text))).toEqual(copy.map(({ text }) => text))
        },
      ),
      { numRuns: runs(3_000) },
    )
  })

  test('adds equal entries without uuid as often as the copy has more of them', () => {
    const mode = (): ReturnType<typeof toLine> => toLine({ type: 'mode' })
    expect(mergeLines([mode()], [mode(), mode(), mode()])).toHaveLength(3)
  })
})

describe('a store of sessions', () => {
  const projectKey = fc.constantFrom('P', '-home-ann-app', 'a/../b', 'ü'.repeat(80))
  const sessionId = fc.constantFrom('s1', 's2', '0197f1c2-8f5e-7a11-9d3c-0a8f3d1c2b4e')
  const subpath = fc.option(fc.constantFrom('subagents/agent-a1', 'agent-a1', 'subagents/w/journal'), {
    nil: undefined,
  })
  const entry = fc
    .tuple(
      fc.dictionary(fc.string({ maxLength: 8 }), fc.jsonValue({ maxDepth: 2 })),
      fc.option(fc.integer({ max: 20, min: 0 })),
    )
    .map(([fields, number]): SessionEntry => {
      const {
        uuid: _,
        parentUuid: __,
        ...rest
      } = JSON.parse(JSON.stringify(fields)) as Record<string, unknown>
      return { ...rest, type: 'custom', ...(number !== null && { uuid: `u${number}` }) }
    })
  const operation = fc.record({ projectKey, sessionId, subpath, entries: fc.array(entry, { maxLength: 5 }) })

  test('has each entry once, in order, exactly as it was given, under its key only', () =>
    fc.assert(
      fc.asyncProperty(fc.array(operation, { maxLength: 12 }), async (operations) => {
        const store = await opened('memory:')
        const folder = temporaryFolder()
        const model = new Map<string, { key: SessionKey; entries: SessionEntry[] }>()
        for (const [index, { entries, subpath: sub, ...rest }] of operations.entries()) {
          const each: SessionKey = { ...rest, ...(sub !== undefined && { subpath: sub }) }
          const name = JSON.stringify(each)
          const known = model.get(name) ?? { key: each, entries: [] }
          // Every second one as another process would.
          const sessions =
            index % 2 === 0 ? sessionsOf(store, folder) : sessionStore(store, { configFolder: folder })
          await sessions.append(each, entries)
          for (const one of entries)
            if (one.uuid === undefined || !known.entries.some(({ uuid }) => uuid === one.uuid))
              known.entries.push(one)
          if (known.entries.length > 0) model.set(name, known)
        }
        const sessions = sessionsOf(store, folder)
        for (const { key: each, entries } of model.values())
          expect(await sessions.load(each)).toEqual(entries)
        expect(await sessions.load({ projectKey: 'P', sessionId: 'never' })).toBeNull()
        for (const project of ['P', '-home-ann-app', 'a/../b', 'ü'.repeat(80), 'never']) {
          const own = [...model.values()]
            .map((each) => each.key)
            .filter((each) => each.projectKey === project)
          const listed = await sessions.listSessions(project)
          expect(listed.map((each) => each.sessionId).toSorted()).toEqual(
            own.flatMap((each) => (each.subpath === undefined ? [each.sessionId] : [])).toSorted(),
          )
          expect(listed.every(({ mtime }) => Number.isInteger(mtime) && mtime > 1e12)).toBe(true)
          for (const session of ['s1', 's2', '0197f1c2-8f5e-7a11-9d3c-0a8f3d1c2b4e'])
            expect(
              (await sessions.listSubkeys({ projectKey: project, sessionId: session })).toSorted(),
            ).toEqual(
              own
                .flatMap((each) =>
                  each.sessionId === session && each.subpath !== undefined ? [each.subpath] : [],
                )
                .toSorted(),
            )
        }
        await sessions.settled()
      }),
      { numRuns: runs(100) },
    ))

  test('offers nothing that deletes', async () => {
    expect(Object.keys(sessionsOf(await opened('memory:')))).not.toContain('delete')
  })

  test('refuses a session that was erased, and has none of it', async () => {
    const store = await opened('memory:')
    const sessions = sessionsOf(store)
    await sessions.append(key, lines('e', 0, 4))
    await sessions.settled()
    await store.conversation(id).erase({ by: 'ann' })
    expect(await sessions.load(key)).toBeNull()
    expect(await sessions.listSessions('p')).toEqual([])
    expect(await tagOf(sessions.append(key, lines('e', 4, 6)))).toBe('OriginalNotKept')
    expect(await tagOf(sessionsOf(store).append(key, lines('e', 4, 6)))).toBe('OriginalNotKept')
  })
})

describe('the conversation of a session', () => {
  const file = new URL('../../examples/sessions/claude-code.jsonl', import.meta.url)
  const text = readFileSync(file, 'utf8')
  const entries = text
    .trim()
    .split('\n')
    .map((each) => JSON.parse(each) as SessionEntry)

  test('is what an import of the transcript makes, however it is cut into batches', () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 1, max: entries.length - 1 }), { maxLength: 6 }),
        async (cuts) => {
          const store = await opened('memory:')
          const sessions = sessionsOf(store)
          const ends = [...cuts.toSorted((one, other) => one - other), entries.length]
          for (const [index, end] of ends.entries()) {
            await sessions.append(key, entries.slice(ends[index - 1] ?? 0, end))
            if (index % 2 === 0) await new Promise(setImmediate)
          }
          await sessions.settled()
          const { conversations } = await store.importSession({ file: 'file.jsonl', text })
          const imported = store.conversation(conversations[0]?.id ?? '')
          const contents = async (chat: typeof imported) =>
            (await chat.effective()).map((item) =>
              'content' in item ? [item.role, item.content] : item.kind,
            )
          expect(await contents(store.conversation(id))).toEqual(await contents(imported))
          expect((await store.conversation(id).verify()).discrepancy).toBeUndefined()
        },
      ),
      { numRuns: runs(20) },
    ))

  test('can be searched, and continues in Claude Code with its own lines', async () => {
    const store = await opened('memory:')
    const sessions = sessionsOf(store)
    await sessions.append(key, entries)
    await sessions.settled()
    const found = await store.conversation(id).search('statement')
    expect(found.items.length).toBeGreaterThan(0)
    const session = await store.conversation(id).session({ format: 'claude-code', cwd: '/' })
    const uuid = entries.findLast(({ type }) => type === 'assistant')?.uuid
    const written = [...session.lines]
    expect(written.some((each) => each.includes(`"${uuid}"`))).toBe(true)
  })

  test('shows a reply without a stop reason once it is complete', async () => {
    const store = await opened('memory:')
    const sessions = sessionsOf(store)
    const part = (uuid: string, parent: string, content: unknown): SessionEntry => ({
      ...line('e', 1),
      uuid,
      parentUuid: parent,
      message: { id: 'm', role: 'assistant', content: [content], stop_reason: null },
    })
    const parts = [
      part('x', 'e-0', { type: 'text', text: 'First.' }),
      part('y', 'x', { type: 'text', text: 'Second.' }),
    ]
    await sessions.append(key, [line('e', 0)])
    await sessions.append(key, parts.slice(0, 1))
    const seen = vi.waitFor(
      async () => expect(await store.conversation(id).effective()).toHaveLength(1),
      60_000,
    )
    await seen
    await sessions.append(key, parts.slice(1))
    await sessions.settled()
    const [, reply] = await store.conversation(id).effective()
    expect(JSON.stringify(reply)).toMatch(/First.*Second/)
  })

  test('links a subagent with the session that started it', async () => {
    const store = await opened('memory:')
    const sessions = sessionsOf(store)
    const agent = { ...key, subpath: 'subagents/agent-a1' }
    const own = lines('a', 0, 4).map((each) => ({ ...each, isSidechain: true, agentId: 'a1' }))
    await sessions.append(key, lines('e', 0, 4))
    await sessions.append(agent, own)
    await sessions.settled()
    expect(await store.conversation(sessionConversation(agent)).links()).toMatchObject([
      { relation: 'subagent-of', conversation: id },
    ])
    expect(await sessions.load(agent)).toEqual(own)
  })

  test('that somebody has changed stays as it is; the entries are stored, and the program is told', async () => {
    const store = await opened('memory:')
    const problems: (readonly [string, string])[] = []
    const onProblem = ({ _tag }: PalimpsestError, conversation: string): void =>
      void problems.push([_tag, conversation])
    const sessions = sessionStore(store, { configFolder: temporaryFolder(), onProblem })
    await sessions.append(key, lines('e', 0, 4))
    await sessions.settled()
    await store.conversation(id).append({ role: 'user', content: 'Something else.' })
    await sessions.append(key, lines('e', 4, 8))
    await sessions.settled()
    expect(problems).toEqual([['ImportDiverged', id]])
    expect(await sessions.load(key)).toEqual(lines('e', 0, 8))
  })

  test('may be erased while its entries are imported', async () => {
    const store = await opened('memory:')
    const first = sessionsOf(store)
    await first.append(key, lines('e', 0, 4))
    await first.settled()
    let reads = 0
    const erasing: Store = {
      ...store,
      conversation: (name) => {
        const chat = store.conversation(name)
        const original: typeof chat.original = async () => {
          const found = await chat.original()
          // The first one is read to add to it, the second one to import it.
          if (++reads === 2) await chat.erase({ by: 'ann' })
          return found
        }
        return { ...chat, original }
      },
    }
    const sessions = sessionsOf(erasing)
    await sessions.append(key, lines('f', 0, 1))
    await sessions.settled()
    expect(reads).toBe(2)
    expect(await sessionsOf(store).load(key)).toBeNull()
  })
})

describe('entries that were not mirrored', () => {
  test('are filled in from the transcript of Claude Code when the session goes on', async () => {
    const store = await opened('memory:')
    const folder = temporaryFolder()
    const sessions = sessionsOf(store, folder)
    await sessions.append(key, lines('e', 0, 3))
    const mode = { type: 'mode', mode: 'plan' }
    // Claude Code has written the batch that is to come, and one that was dropped.
    writeTranscript(folder, [
      ...lines('e', 0, 5),
      mode,
      ...lines('e', 5, 6),
      mode,
      line('e', 6),
      line('e', 7),
    ])
    await sessions.append(key, [mode, line('e', 6)])
    const expected = [...lines('e', 0, 5), mode, line('e', 5), mode, line('e', 6)]
    expect((await sessionsOf(store).load(key)) ?? []).toEqual(expected)
    await sessions.append(key, [line('e', 7)])
    expect(await sessions.load(key)).toEqual([...expected, line('e', 7)])
  })

  test('are filled in before a session is resumed, each where it was; what others added stays last', async () => {
    const store = await opened('memory:')
    const folder = temporaryFolder()
    await sessionsOf(store).append(key, lines('e', 0, 3))
    await sessionsOf(store).append(key, [{ ...line('f', 1), parentUuid: 'e-2' }])
    writeTranscript(folder, [...lines('e', 0, 5), { type: 'api-request-shape' }])
    expect(uuids(await sessionsOf(store, folder).load(key))).toEqual([
      'e-0',
      'e-1',
      'e-2',
      'e-3',
      'e-4',
      'f-1',
    ])
    // In the store, not only in the answer.
    expect(uuids(await sessionsOf(store).load(key))).toEqual(['e-0', 'e-1', 'e-2', 'e-3', 'e-4', 'f-1'])
  })

  test('are filled in when a whole transcript is appended again', async () => {
    const sessions = sessionsOf(await opened('memory:'))
    await sessions.append(key, [line('e', 0), line('e', 1), line('e', 4)])
    await sessions.append(key, lines('e', 0, 6))
    expect(await sessions.load(key)).toEqual(lines('e', 0, 6))
  })

  test('do not move what follows entries that are recorded again', async () => {
    const sessions = sessionsOf(await opened('memory:'))
    await sessions.append(key, lines('e', 0, 6))
    await sessions.append(key, [line('x', 0), line('e', 1), line('e', 2), line('y', 0)])
    expect(uuids(await sessions.load(key)).slice(6)).toEqual(['x-0', 'y-0'])
  })

  test('are found where the SDK keeps a resumed session whose process was killed', async () => {
    const store = await opened('memory:')
    const folder = temporaryFolder()
    const before = process.env['TMPDIR']
    process.env['TMPDIR'] = folder
    try {
      await sessionsOf(store, '/nowhere').append(key, lines('e', 0, 3))
      writeTranscript(join(folder, 'claude-resume-1'), lines('e', 0, 4))
      writeTranscript(join(folder, 'another'), lines('e', 0, 5))
      expect(await sessionsOf(store, '/nowhere').load(key)).toEqual(lines('e', 0, 4))
    } finally {
      if (before === undefined) delete process.env['TMPDIR']
      else process.env['TMPDIR'] = before
    }
  })

  test('are not looked for outside the folder, whatever the key says', async () => {
    const store = await opened('memory:')
    const folder = temporaryFolder()
    const outside = { ...key, sessionId: '../q/s' }
    await sessionsOf(store).append(outside, lines('e', 0, 3))
    const path = join(folder, 'projects', 'q', 's.jsonl')
    mkdirSync(dirname(path), { recursive: true })
    mkdirSync(join(folder, 'projects', 'p'))
    writeFileSync(path, JSON.stringify(line('e', 3)))
    expect(await sessionsOf(store, folder).load(outside)).toEqual(lines('e', 0, 3))
  })
})

describe('processes', () => {
  const writer = (url: string, folder: string, entries: number, name = 'e') =>
    start(
      'frameworks/children/session-writer.ts',
      '--url',
      url,
      '--folder',
      folder,
      '--entries',
      String(entries),
      '--name',
      name,
    )

  test('killed between or during batches lose no entry, and write none twice', async () => {
    const folder = temporaryFolder()
    const url = `sqlite:${join(folder, 'store.db')}?synchronous=normal`
    const kills = Math.max(4, runs(20))
    for (const after of fc.sample(fc.nat(5), kills)) {
      const child = writer(url, folder, 100_000)
      endsWithTest(child)
      let batches = 0
      child.stdout?.on('data', (data: Buffer) => {
        batches += data.toString().split('at ').length - 1
        if (batches >= after) child.kill('SIGKILL')
      })
      await once(child, 'exit')
    }
    const written = readFileSync(join(folder, 'projects', 'p', 's.jsonl'), 'utf8')
      .trim()
      .split('\n').length
    expect(written).toBeGreaterThan(kills)
    const { code } = await ended(writer(url, folder, written + 3))
    expect(code).toBe(0)
    const store = await opened(url)
    expect(await sessionsOf(store).load(key)).toEqual(lines('e', 0, written + 3))
    const shown = await store.conversation(id).effective()
    expect(shown).toHaveLength(written + 3)
    expect((await store.conversation(id).verify()).discrepancy).toBeUndefined()
  })

  test('that write one session at once keep every entry once, each in its own order', async () => {
    const folder = temporaryFolder()
    const url = `sqlite:${join(folder, 'store.db')}?synchronous=normal`
    await opened(url)
    const names = ['a', 'b', 'c']
    const all = await Promise.all(names.map((name) => ended(writer(url, join(folder, name), 30, name))))
    expect(all.map(({ code }) => code)).toEqual([0, 0, 0])
    const stored = uuids(await sessionsOf(await opened(url)).load(key))
    expect(stored).toHaveLength(90)
    for (const name of names)
      expect(stored.filter((uuid) => String(uuid).startsWith(name))).toEqual(uuids(lines(name, 0, 30)))
  })
})

describe('options of a query', () => {
  const warnings = async (env: Record<string, string | undefined>): Promise<readonly string[]> => {
    const heard: string[] = []
    const listen = ({ message }: Error): void => void heard.push(message)
    process.on('warning', listen)
    const sessions = sessionsOf(await opened('memory:'))
    expect(withSessionStore({ env, cwd: '/' }, sessions)).toEqual({ env, cwd: '/', sessionStore: sessions })
    await new Promise(setImmediate)
    process.off('warning', listen)
    return heard
  }

  test('with another home bring a warning, because the SDK mirrors nothing then', async () => {
    expect(await warnings({ HOME: '/elsewhere' })).toMatchObject([expect.stringContaining('mirrors nothing')])
    expect(await warnings({ HOME: '/elsewhere', CLAUDE_CONFIG_DIR: '/elsewhere/.claude' })).toEqual([])
    expect(await warnings({ ...process.env })).toEqual([])
  })
})
