// node examples/openai-agents/main.ts: an agent of the OpenAI Agents SDK whose session is a conversation, and from which a question is
// taken back. It needs no network.
import { Agent, type Model, Runner, Usage } from '@openai/agents-core'
import { agentsSession } from '../../src/frameworks/openai-agents.ts'
import { openStore } from '../../src/index.ts'

/** A model that says how many questions it sees. */
const model: Model = {
  getResponse: async ({ input }) => {
    const questions = Array.isArray(input)
      ? input.filter((item) => 'role' in item && item.role === 'user')
      : []
    const text = `I see ${questions.length} questions.`
    return {
      usage: new Usage(),
      output: [
        { type: 'message', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text }] },
      ],
    }
  },
  getStreamedResponse: () => {
    throw new Error('this model does not stream')
  },
}

const store = await openStore('memory:')
const chat = store.conversation('agents-1')
const agent = new Agent({ name: 'Helper', model })
const runner = new Runner({ tracingDisabled: true })
const ask = async (question: string): Promise<void> => {
  const { finalOutput } = await runner.run(agent, question, { session: agentsSession(store, 'agents-1') })
  process.stdout.write(`> ${question}\n< ${finalOutput}\n`)
}

await ask('Why does the parser fail?')
await ask('And in line 60?')
await chat.rewind({ turns: 1 })
await ask('And in line 61?')

for (const entry of await chat.full({ abandoned: true }))
  if (entry.kind === 'message') {
    const text = entry.content.map((block) => (block.type === 'text' ? block.text : block.type)).join(' ')
    process.stdout.write(`${entry.position} ${entry.status.padEnd(9)} ${entry.role}: ${text}\n`)
  }
await store.close()
