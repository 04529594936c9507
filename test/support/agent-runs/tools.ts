import { setTimeout as sleep } from 'node:timers/promises'
import type { Tools } from '../../../src/agent/tools/settings.ts'
import { text } from '../log.ts'

/** How often the tools that must not run twice have run, by the id of the call. */
export type Runs = Map<string, number>

/** The names that the model is told, more of them or fewer. */
export const toolSets: readonly (readonly string[])[] = [
  [],
  ['read', 'write'],
  ['read', 'write', 'slow', 'fail', 'late', 'huge', 'blocks', 'nothing'],
]

export const toolsOf = (names: readonly string[]) =>
  names.map((name) => ({ name, input_schema: { type: 'object' } }))

/** @param meanwhile happens in each run before the tool does what it does */
export const agentTools = (runs: Runs, meanwhile: () => Promise<void>): Tools => {
  const once =
    (does: () => unknown) =>
    async (_: unknown, { id }: { readonly id: string }) => {
      runs.set(id, (runs.get(id) ?? 0) + 1)
      await meanwhile()
      return does() as string
    }
  return {
    read: {
      idempotent: true,
      run: async () => {
        await meanwhile()
        return 'what the file says '.repeat(8)
      },
    },
    write: once(() => 'written'),
    slow: once(() => sleep(2, 'at last')),
    fail: once(() => {
      throw new Error('no such file')
    }),
    late: { run: once(() => new Promise(() => {})), timeout: 4 },
    huge: once(() => 'line 1 of it '.repeat(400)),
    blocks: once(() => [text(' '), text('one'), text('')]),
    nothing: once(() => undefined),
  }
}
