// The recorder for programs that call a model themselves: `palimpsest/recorder`. docs/record.md.

export {
  recordingFetch,
  type RecordingFetch,
  type RecordingFetchOptions,
} from './recorder/recording-fetch.ts'
export type { RecordGap, RecordListeners, RecordTarget } from './recorder/record-queue.ts'
export type { ExchangeReply, ModelExchange } from './recorder/exchange.ts'
export type { RecordedCall, RecordError } from './recorder/recorder.ts'
