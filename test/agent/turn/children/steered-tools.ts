import { setTimeout as sleep } from 'node:timers/promises'
import type { ToolContext } from '../../../../src/index.ts'

const names = ['save', 'pay', 'gift'] as const

/** Tools that tell their calls to `tell`, and take their time. */
export const steeredTools = (tell: (word: string) => void) => {
  const act =
    (name: string) =>
    async (_: unknown, { key }: ToolContext) => {
      tell(`${name} ${key}`)
      await sleep(3)
      return `${name} done`
    }
  return {
    tools: names.map((name) => ({ name, input_schema: { type: 'object' } })),
    run: {
      save: { run: act('save'), effect: 'idempotent' as const },
      pay: act('pay'),
      gift: { run: act('gift'), approve: true },
    },
  }
}
