import type { BenchMessage } from '../messages.ts'

/** A program that appends messages to a conversation, one at a time. */
export interface Appender {
  readonly name: string
  /** Appends the messages, each on its own; returns when the last one is as durable as the program makes it. */
  readonly append: (messages: readonly BenchMessage[]) => Promise<void>
  readonly close: () => Promise<void>
}

/** Opens an appender on a file of its own in a folder. Rejects if the program is not there or does not run. */
export type OpenAppender = (folder: string) => Promise<Appender>
