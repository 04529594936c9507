import { join } from 'node:path'
import { AIMessage, type BaseMessage, HumanMessage } from '@langchain/core/messages'
import { END, MessagesValue, START, StateGraph, StateSchema } from '@langchain/langgraph'
import { checkpointSaver } from '../../src/frameworks/langgraph.ts'
import { openStore } from '../../src/index.ts'
import type { BenchMessage } from '../messages.ts'
import type { Peer } from './peer.ts'

const config = { configurable: { thread_id: 'bench' } }
const graphMessage = ({ role, content }: BenchMessage) =>
  role === 'user' ? new HumanMessage(content) : new AIMessage(content)

/** The graph of langgraph.mjs, with the checkpointer of this package. */
export const peer = (synchronous = 'full'): Peer => ({
  name: `LangGraph 1.7.3, palimpsest${synchronous === 'full' ? '' : `, synchronous=${synchronous}`}`,
  durable: synchronous === 'full',
  open: async (folder) => {
    const store = await openStore(`sqlite:${join(folder, 'palimpsest.db')}?synchronous=${synchronous}`)
    let reply: BaseMessage[] = []
    const graph = new StateGraph(new StateSchema({ messages: MessagesValue }))
      .addNode('model', () => ({ messages: reply }))
      .addEdge(START, 'model')
      .addEdge('model', END)
      .compile({ checkpointer: checkpointSaver(store) })
    const invoke = (given: readonly BenchMessage[], replied: readonly BenchMessage[] = []) => {
      reply = replied.map(graphMessage)
      return graph.invoke({ messages: given.map(graphMessage) }, config)
    }
    const read = async () => (await graph.getState(config)).values.messages
    return {
      append: async (given) => {
        for (let at = 0; at < given.length; at += 2)
          await invoke(given.slice(at, at + 1), given.slice(at + 1, at + 2))
      },
      seed: async (given) => {
        await invoke(given)
      },
      last: async (count) => (await read()).slice(-count),
      all: read,
      close: store.close,
    }
  },
})
