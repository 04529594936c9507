import type { ConversationHandle } from '../../conversation/conversation.ts'
import type { CallOutOfRange } from '../../agent/receipts/errors.ts'
import type { FileExists, ReadError } from '../../store/errors.ts'
import type { SecretsFound } from '../../transfer/disclosure/prepare.ts'
import type { SealContradicted } from '../ledger/errors.ts'

/** The members of `Conversation` that an export uses. */
export type EvidenceSource = Pick<ConversationHandle, 'id' | 'position' | 'events' | 'stored' | 'context'>
export type EvidenceError = ReadError | FileExists | CallOutOfRange | SealContradicted | SecretsFound
