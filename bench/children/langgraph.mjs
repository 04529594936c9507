// Appends messages to a thread of LangGraph's SqliteSaver, as a graph with a `messages` channel does: each list that the parent
// process sends, one checkpoint a message; answers when the last one is written.
import { join } from 'node:path'
import { AIMessage, HumanMessage } from '@langchain/core/messages'
import { emptyCheckpoint, uuid6 } from '@langchain/langgraph-checkpoint'
import { SqliteSaver } from '@langchain/langgraph-checkpoint-sqlite'

const saver = SqliteSaver.fromConnString(join(process.argv[2] ?? '.', 'langgraph.db'))
let config = { configurable: { thread_id: 'bench', checkpoint_ns: '' } }
let written = []

const append = async ({ role, content }) => {
  written = [...written, role === 'user' ? new HumanMessage(content) : new AIMessage(content)]
  const step = written.length
  const checkpoint = {
    ...emptyCheckpoint(),
    id: uuid6(step),
    channel_values: { messages: written },
    channel_versions: { messages: step },
  }
  config = await saver.put(config, checkpoint, { source: 'loop', step, parents: {} }, { messages: step })
}

process.on('message', async (messages) => {
  for (const message of messages) await append(message)
  process.send?.(messages.length)
})
