import { join } from 'node:path'
import { AIMessage, HumanMessage, RemoveMessage } from '@langchain/core/messages'
import {
  END,
  MessagesDeltaValue,
  MessagesValue,
  REMOVE_ALL_MESSAGES,
  START,
  StateGraph,
  StateSchema,
} from '@langchain/langgraph'
import { SqliteSaver } from '@langchain/langgraph-checkpoint-sqlite'

const config = { configurable: { thread_id: 'bench' } }
const graphMessage = ({ role, content }) =>
  role === 'user' ? new HumanMessage(content) : new AIMessage(content)

/** A graph with a `messages` channel and one node: `invoke` gives it a message, and the node adds the reply to that. */
export const peer = (variant) => ({
  name: `LangGraph 1.7.3, SqliteSaver 1.0.4${variant === 'delta' ? ', MessagesDeltaValue (beta)' : ''}`,
  durable: false,
  open: async (folder) => {
    // The delta channel writes a snapshot every 100 updates; until then, each read would replay the seed.
    const afterSeed = variant === 'delta' ? 110 : 0
    const saver = SqliteSaver.fromConnString(join(folder, 'langgraph.db'))
    const messages = variant === 'delta' ? MessagesDeltaValue : MessagesValue
    let reply = []
    const graph = new StateGraph(new StateSchema({ messages }))
      .addNode('model', () => ({ messages: reply }))
      .addEdge(START, 'model')
      .addEdge('model', END)
      .compile({ checkpointer: saver })
    const invoke = (given, replied = []) => {
      reply = replied
      return graph.invoke({ messages: given }, config)
    }
    const read = async () => (await graph.getState(config)).values.messages
    const append = async (given) => {
      for (let at = 0; at < given.length; at += 2) {
        const [message, replied] = given.slice(at, at + 2).map(graphMessage)
        await invoke([message], replied ? [replied] : [])
      }
    }
    return {
      append,
      seed: async (given) => {
        const end = given.length - Math.min(given.length, afterSeed)
        await invoke(given.slice(0, end).map(graphMessage))
        await append(given.slice(end))
      },
      last: async (count) => (await read()).slice(-count),
      all: read,
      compact: async (summary, keepLast) => {
        const kept = (await read()).slice(-keepLast)
        await invoke([new RemoveMessage({ id: REMOVE_ALL_MESSAGES }), new HumanMessage(summary), ...kept])
      },
      effective: read,
      close: async () => saver.db.close(),
    }
  },
})
