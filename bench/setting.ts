/** What a part of the benchmarks is given. */
export interface Setting {
  /** An empty folder of its own, on the disk that the project is on; removed afterwards. */
  readonly folder: string
  /** The file of a store with a conversation `bench` of so many events (see `buildConversation`); built once a run. */
  readonly conversationOf: (events: number) => Promise<string>
  /** Smaller sizes and fewer rounds: to see that all runs, not to quote. */
  readonly isQuick: boolean
  /** The size of the session that is imported, if it was named. */
  readonly megabytes: number | undefined
  /** Why the peers from npm could not be installed, undefined if they were. */
  readonly noPeers: string | undefined
  /** Tells the person who waits what goes on. */
  readonly say: (text: string) => void
}
