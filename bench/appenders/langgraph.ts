import { peer } from '../processes.ts'
import type { OpenAppender } from './appender.ts'

/** LangGraph's SqliteSaver, a checkpoint a message. It rests on better-sqlite3, which is compiled for the system's Node. */
export const openLangGraph: OpenAppender = async (folder) => {
  const saver = peer(new URL('../children/langgraph.mjs', import.meta.url), folder)
  const append = async (messages: readonly object[]): Promise<void> => {
    await saver.ask(messages)
  }
  try {
    await append([])
  } catch (error) {
    await saver.close()
    throw error
  }
  return { name: 'LangGraph SqliteSaver', append, close: saver.close }
}
