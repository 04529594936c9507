import { describe, expect, it } from 'vitest'
import { text, toolUse } from '../support/log.ts'
import { scene } from '../support/turn-scene.ts'

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
})
