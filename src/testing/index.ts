// For those who write a store of their own: the contract that it must keep, and conversations on top of it.

export { type ContractCase, storeContract } from './contract.ts'
export { storeOn } from '../api/open.ts'
export { memoryStore } from '../store/memory/store.ts'
export type { EventStore } from '../store/port.ts'
export type { StoredEvent } from '../events/codec.ts'
