import { join } from 'node:path'
import { openStore } from '../../src/index.ts'
import type { OpenAppender } from './appender.ts'

export const openPalimpsest: OpenAppender = async (folder) => {
  const store = await openStore(`sqlite:${join(folder, 'palimpsest.db')}`)
  const chat = store.conversation('bench')
  return {
    name: 'palimpsest',
    append: async (messages) => {
      for (const message of messages) await chat.append(message)
    },
    close: () => store.close(),
  }
}
