import { AIMessage, HumanMessage } from '@langchain/core/messages'
import { END, MessagesValue, START, StateGraph, StateSchema } from '@langchain/langgraph'
import { PostgresSaver } from '@langchain/langgraph-checkpoint-postgres'

const config = { configurable: { thread_id: 'bench' } }

/** The graph of langgraph.mjs, with its checkpoints in the database that the environment names. */
export const peer = () => ({
  name: 'LangGraph 1.7.3, PostgresSaver 1.0.5',
  durable: true,
  open: async () => {
    const saver = PostgresSaver.fromConnString(process.env.PALIMPSEST_BENCH_POSTGRES)
    await saver.setup()
    let reply = []
    const graph = new StateGraph(new StateSchema({ messages: MessagesValue }))
      .addNode('model', () => ({ messages: reply }))
      .addEdge(START, 'model')
      .addEdge('model', END)
      .compile({ checkpointer: saver })
    const read = async () => (await graph.getState(config)).values.messages
    return {
      append: async (given) => {
        for (let at = 0; at < given.length; at += 2) {
          reply = given.slice(at + 1, at + 2).map(({ content }) => new AIMessage(content))
          await graph.invoke({ messages: [new HumanMessage(given[at].content)] }, config)
        }
      },
      last: async (count) => (await read()).slice(-count),
      all: read,
      effective: read,
      close: () => saver.end(),
    }
  },
})
