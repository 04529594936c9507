import type { ConversationListRow } from '../source/answers.ts'

export type ConversationStatus = NonNullable<ConversationListRow['status']>

/** States of a conversation, with the words that people read. */
export const statusWords: Readonly<Record<ConversationStatus, string>> = {
  'needs-approval': 'Needs approval',
  working: 'Working',
  failed: 'Failed',
  parked: 'Parked',
  idle: 'Idle',
}

export const isStatus = (text: string): text is ConversationStatus => Object.hasOwn(statusWords, text)
