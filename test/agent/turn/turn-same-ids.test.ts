import { describe, expect, it } from 'vitest'
import { text, toolUse } from '../../support/log.ts'
import { scene } from '../../support/turn-scene.ts'

const done = { content: [text('done')] }

describe('calls of one reply with the same id', () => {
  it('are each run once, with their own input', async () => {
    const write = (path: string) => ({ ...toolUse('same', { path }), name: 'write' })
    const { turn } = await scene([{ content: [write('a'), write('b')] }, done])
    const written: unknown[] = []
    await turn({
      tools: [{ name: 'write', input_schema: { type: 'object' } }],
      run: { write: ({ path }: { path: string }) => written.push(path) && 'written' },
    })
    expect(written).toEqual(['a', 'b'])
  })

  it('are not run if somebody would have to approve them: one decision would be for all of them', async () => {
    const write = (path: string) => ({ ...toolUse('same', { path }), name: 'write' })
    const { turn, chat, api } = await scene([{ content: [write('a'), write('b')] }, done])
    const written: unknown[] = []
    const { waiting, ended } = await turn({
      tools: [{ name: 'write', input_schema: { type: 'object' } }],
      run: { write: { run: ({ path }: { path: string }) => written.push(path) && 'written', approve: true } },
    })
    expect([written, waiting, ended]).toEqual([[], [], 'stop'])
    expect(JSON.stringify((await chat.render()).messages)).toContain('have the same id')
    expect(api.requests.map(({ status }) => status)).toEqual([200, 200])
  })
})
