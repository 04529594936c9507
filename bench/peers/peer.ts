import type { BenchMessage } from '../messages.ts'

/** A program that keeps a conversation. Each is a file of this folder, which exports `peer(variant)`. */
export interface Peer {
  readonly name: string
  /** Whether an append that has returned survives a power cut: as strace shows it (fsync or fdatasync for each), not as documented. */
  readonly durable: boolean
  /** Opens the conversation in a folder of its own, creating it if absent. Rejects if the program does not run here. */
  readonly open: (folder: string) => Promise<OpenPeer>
}

export interface OpenPeer {
  /** Appends the messages, each on its own; returns when the last one is as durable as the program makes it. */
  readonly append: (messages: readonly BenchMessage[]) => Promise<void>
  /** Appends the messages in as few writes as the program allows, where `append` would take minutes. */
  readonly seed?: (messages: readonly BenchMessage[]) => Promise<void>
  /** The newest `count` messages. */
  readonly last: (count: number) => Promise<readonly unknown[]>
  /** Every message. */
  readonly all: () => Promise<readonly unknown[]>
  /** Replaces all but the newest `keepLast` messages with a summary, in what the model sees. Absent if the program has no such thing. */
  readonly compact?: (summary: string, keepLast: number) => Promise<void>
  /** What the model sees. */
  readonly effective?: () => Promise<readonly unknown[]>
  readonly close: () => Promise<void>
}
