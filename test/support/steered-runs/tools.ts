import { setTimeout as sleep } from 'node:timers/promises'
import type { ToolContext, Tools, ToolSettings } from '../../../src/agent/tools/settings.ts'
import { toolNames } from './plan.ts'
import type { Process } from './world.ts'

/** Something that a tool did to the world. */
export interface Effect {
  readonly key: string
  readonly call: string
  readonly tool: string
  readonly input: Readonly<Record<string, unknown>>
  /** How many events the log of turns had right before. */
  readonly facts: number
}

/** What the tools do, said twice: here for the judge. */
export const isUnsafe = (tool: string): boolean => ['pay', 'gift', 'slow'].includes(tool)
export const isRecorded = (tool: string): boolean => !['look', 'peek'].includes(tool)
export const needsApproval = (tool: string, input: Effect['input']): boolean =>
  tool === 'peek' || tool === 'mend' || (tool === 'gift' && input['asks'] === true)

export const definitions = toolNames.map((name) => ({ name, input_schema: { type: 'object' } }))

/** @param happens records an effect, as far as the world is concerned at once */
export const toolsOf = (
  { at, count, isDead }: Process,
  happens: (effect: Omit<Effect, 'facts'>) => Promise<void>,
): Tools => {
  const act =
    (tool: string): ToolSettings['run'] =>
    async (input: unknown, { key, id, progress }: ToolContext) => {
      const nth = count('tool')
      await at('tool', false, nth)
      const gone = (): never => {
        throw new Error('the process has died')
      }
      if (isDead()) gone()
      progress('at it')
      await happens({ key, call: id, tool, input: input as Effect['input'] })
      if (tool === 'slow') await sleep(2)
      await at('tool', true, nth)
      return isDead() ? gone() : `${tool} done`
    }
  return {
    look: { run: act('look'), effect: 'none' },
    peek: { run: act('peek'), effect: 'none', approve: true },
    save: { run: act('save'), idempotent: true },
    mend: { run: act('mend'), effect: 'idempotent', approve: true },
    pay: act('pay'),
    gift: {
      run: act('gift'),
      approve: ({ input }) => (input as Effect['input'])['asks'] === true,
    },
    slow: act('slow'),
  }
}
