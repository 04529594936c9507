import { tools } from '../agent/tools.ts'

// The agents of the sample, without a client: what `palimpsest replay ID --agent examples/sample/agent.ts` holds against the log.

const unavailable = (): never => {
  throw new Error('there is no folder here')
}
const run = Object.fromEntries(tools.map(({ name }) => [name, unavailable]))

const more = [
  {
    name: 'explore',
    description: 'Sends somebody to find something out.',
    input_schema: { type: 'object', properties: { question: { type: 'string' } }, required: ['question'] },
  },
  {
    name: 'publish',
    description: 'Publishes a version. Somebody has to agree.',
    input_schema: { type: 'object', properties: { version: { type: 'string' } }, required: ['version'] },
  },
]

export const agent = {
  model: 'claude-opus-5-5',
  system:
    'You work on a small program. Its files are reached with your tools only; nothing can be run. Look before you change something, change as little as is needed, and say in two or three sentences what you did.',
  tools: [...tools, ...more],
  run: {
    ...run,
    explore: unavailable,
    publish: { idempotent: true, approve: true, run: () => 'Published.' },
  },
  parameters: { thinking: { type: 'adaptive' } },
  context: { window: 6_500, maxOutput: 800 },
  summarizer: { model: 'claude-haiku-4-5', window: 200_000 },
}

export const helper = { model: 'claude-sonnet-5-5', tools, run }

export default ({ id }: { readonly id: string }) => (id.endsWith('.explore') ? helper : agent)
