// node examples/langgraph/main.ts: a graph that asks before it acts, kept in a store: interrupted, resumed, and tried again from its
// past. It needs no network.
import { AIMessage, HumanMessage } from '@langchain/core/messages'
import { Command, END, interrupt, MessagesValue, START, StateGraph, StateSchema } from '@langchain/langgraph'
import { checkpointSaver, conversationIdOf } from '../../src/frameworks/langgraph.ts'
import { openStore } from '../../src/index.ts'

const store = await openStore('memory:')
const graph = new StateGraph(new StateSchema({ messages: MessagesValue }))
  .addNode('ask', () => ({ messages: [new AIMessage('May I delete line 60?')] }))
  .addNode('act', () => ({
    messages: [new AIMessage(interrupt('May I?') === 'yes' ? 'Deleted.' : 'Kept.')],
  }))
  .addEdge(START, 'ask')
  .addEdge('ask', 'act')
  .addEdge('act', END)
  .compile({ checkpointer: checkpointSaver(store) })

const config = { configurable: { thread_id: 'user-1' } }
await graph.invoke({ messages: [new HumanMessage('Fix the parser.')] }, config)
await graph.invoke(new Command({ resume: 'yes' }), config)

// Back to where the graph asked, with one message more.
for await (const { next, config: past } of graph.getStateHistory(config))
  if (next[0] === 'act') {
    const other = await graph.updateState(past, { messages: [new HumanMessage('Be careful.')] }, 'ask')
    await graph.invoke(null, other)
    break
  }
await graph.invoke(new Command({ resume: 'no' }), config)

const chat = store.conversation(conversationIdOf('user-1'))
for (const entry of await chat.full({ abandoned: true }))
  if (entry.kind === 'message') {
    const text = entry.content.map((block) => (block.type === 'text' ? block.text : block.type)).join(' ')
    process.stdout.write(`${entry.position} ${entry.status.padEnd(9)} ${entry.role}: ${text}\n`)
  }
await store.close()
