import { closeSync, fdatasyncSync, openSync, renameSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { BenchMessage } from '../messages.ts'
import type { OpenAppender } from './appender.ts'

/** A line of JSON a message, each waited for until it is on the disk. */
export const openJsonLines: OpenAppender = async (folder) => {
  const file = openSync(join(folder, 'messages.jsonl'), 'a')
  return {
    name: 'JSONL, fdatasync',
    append: async (messages) => {
      for (const message of messages) {
        writeSync(file, `${JSON.stringify(message)}\n`)
        fdatasyncSync(file)
      }
    },
    close: async () => closeSync(file),
  }
}

/** The whole conversation written anew at each message, then renamed into place; not waited for. */
export const openWholeFile: OpenAppender = async (folder) => {
  const file = join(folder, 'messages.json')
  const written: BenchMessage[] = []
  return {
    name: 'whole JSON file, no fsync',
    append: async (messages) => {
      for (const message of messages) {
        written.push(message)
        writeFileSync(`${file}.new`, JSON.stringify(written))
        renameSync(`${file}.new`, file)
      }
    },
    close: async () => undefined,
  }
}
