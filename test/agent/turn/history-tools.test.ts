import { describe, expect, it } from 'vitest'
import { historyTools } from '../../../src/index.ts'
import type { MessagesApi } from '../../../src/testing/messages-api/server.ts'
import { text, toolUse } from '../../support/log.ts'
import { type Scene, scene, type Said, toolContext, yes } from '../../support/turn-scene.ts'

/** A conversation whose first messages are behind a summary that does not name the port. */
const condensed = async (said: readonly Said[]): Promise<Scene> => {
  const made = await scene(said)
  await made.chat.append([
    { role: 'assistant', content: 'The staging database listens on port 54329.' },
    { role: 'user', content: 'Good. Now the parser.' },
    { role: 'assistant', content: 'The parser is done.' },
    { role: 'user', content: 'Which port was it?' },
  ])
  await made.chat.condense({ covers: { first: 0, last: 3 }, summary: 'The parser was mended.' })
  return made
}

const call = (name: string, input: object): Said => ({
  content: [{ ...toolUse('t1', input), name }],
})
/** Returns the messages of the newest request, as JSON, and the text of its last one. */
const sentTo = ({ requests }: MessagesApi): string => JSON.stringify(requests.at(-1)?.body?.messages)
const resultIn = ({ requests }: MessagesApi): string =>
  JSON.stringify(requests.at(-1)?.body?.messages.at(-1)?.content)

describe('given a summary that leaves a fact out', () => {
  it('the model finds the fact with search_history, and is told that it is from the past', async () => {
    const { chat, turn, api } = await condensed([call('search_history', { text: 'port' }), yes])
    await turn({ tools: historyTools(chat) })
    const result = resultIn(api)
    expect(result).toContain('From the past of this conversation')
    expect(result).toContain(
      'position 1, assistant, hidden by 5: The staging database listens on port 54329.',
    )
    expect(result).toContain('position 4, user, you see it: Which port was it?')
  })

  it('the model reads hidden messages by their positions', async () => {
    const { chat, turn, api } = await condensed([call('read_history', { from: 0, to: 2 }), yes])
    await turn({ tools: historyTools(chat) })
    const result = resultIn(api)
    expect(result).toContain('[1, assistant, hidden from you]\\nThe staging database listens on port 54329.')
    expect(result).toContain('[2, user, hidden from you]')
  })

  it('what is not there is said, with what to try', async () => {
    const { chat } = await condensed([yes])
    const [search, read] = historyTools(chat)
    expect(await search?.run({ text: 'zebra' }, toolContext('search_history'))).toContain('another word')
    await expect(read?.run({ from: 99 }, toolContext('read_history'))).rejects.toThrow('from 0 to 5')
  })

  it('a call that would restore the messages waits for approval, and shows them once it is approved', async () => {
    const { chat, turn, api } = await condensed([call('restore_history', { marker: 5 }), yes])
    const tools = historyTools(chat)
    const { waiting } = await turn({ tools })
    expect(waiting).toMatchObject([{ tool: 'restore_history', input: { marker: 5 } }])
    expect((await chat.effective())[0]).toMatchObject({ kind: 'summary' })

    await chat.approve(waiting[0]?.call ?? '', { by: 'ann' })
    await turn({ tools })
    const sent = sentTo(api)
    expect(sent).toContain('listens on port 54329')
    expect(sent).not.toContain('The parser was mended.')
    expect(sent).toContain('You see again what the marker at 5 hid.')
  })

  it('without approval it restores at once, and not at all if it is left out', async () => {
    const { chat, turn, api } = await condensed([call('restore_history', { marker: 5 }), yes])
    await turn({ tools: historyTools(chat, { restore: true }) })
    expect(sentTo(api)).toContain('listens on port 54329')
    expect(historyTools(chat, { restore: false }).map(({ definition }) => definition.name)).toEqual([
      'search_history',
      'read_history',
    ])
  })
})

describe('given more than a result may have', () => {
  it('each answer stays within the limit, and reading on yields every message once', async () => {
    const { chat } = await scene([yes])
    for (let from = 0; from < 300; from += 50)
      await chat.append(
        Array.from({ length: 50 }, (_, index) => ({
          role: index % 2 === 0 ? ('assistant' as const) : ('user' as const),
          content: `note ${from + index} ${'ü'.repeat(index)}`,
        })),
      )
    const read = historyTools(chat)[1]
    const seen: string[] = []
    for (let from: number | undefined = 0; from !== undefined;) {
      const result: string = String(await read?.run({ from, to: 300 }, toolContext('read_history', 2_000)))
      expect(Buffer.byteLength(result)).toBeLessThanOrEqual(2_000)
      seen.push(...Array.from(result.matchAll(/note (\d+) /g), ([, n]) => String(n)))
      const next: string | undefined = /The rest: from (\d+)/.exec(result)?.[1]
      from = next === undefined ? undefined : Number(next)
    }
    expect(seen).toEqual(Array.from({ length: 300 }, (_, index) => String(index)))
  })
})

describe('given a turn with the tools that has to condense', () => {
  it('the summary names them, with the positions that it stands for', async () => {
    const long = 'word '.repeat(2_000)
    const { chat, turn } = await scene([
      (body) => (JSON.stringify(body).includes('"none"') ? { content: [text('A summary.')] } : yes),
    ])
    for (let n = 0; n < 4; n++)
      await chat.append([
        { role: 'assistant', content: long },
        { role: 'user', content: `${n} ${long}` },
      ])
    await turn({
      tools: historyTools(chat),
      context: { window: 20_000, percentage: 50 },
      parameters: { max_tokens: 1_000 },
    })
    const summary = (await chat.effective()).find(({ kind }) => kind === 'summary')
    expect(JSON.stringify(summary)).toMatch(/positions \d+ to \d+, are kept: search_history finds/)
  })
})
