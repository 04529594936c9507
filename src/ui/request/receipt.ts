import type { CallResponse, ReceiptState } from '../source/answers.ts'

// Labels that say whether a rebuilt request is the one that was sent.

export interface ReceiptLabel {
  readonly state: ReceiptState
  readonly icon: string
  readonly word: string
  readonly means: string
  /** Path of the first difference, if known: `messages[3].content[0]`. */
  readonly path?: string | undefined
}

const words: Readonly<Record<ReceiptState, Omit<ReceiptLabel, 'state' | 'path'>>> = {
  verified: {
    icon: '✓',
    word: 'verified',
    means:
      'Rebuilt from the log: its system, tools and messages have the same canonical JSON as those that were sent.',
  },
  differs: {
    icon: '≠',
    word: 'differs',
    means: 'Rebuilt from the log, this request differs from the one that was sent.',
  },
  erased: {
    icon: '⌫',
    word: 'not checkable',
    means: 'The request that was sent showed content that was erased.',
  },
  missing: {
    icon: '○',
    word: 'missing',
    means:
      'The reply has no receipt of what was sent, although replies before it have one. This request was rebuilt from the log.',
  },
  reconstructed: {
    icon: '○',
    word: 'reconstructed, no receipt',
    means: 'Built from the log, as it would be sent today. The request that was sent was not recorded.',
  },
  pending: { icon: '…', word: 'pending', means: 'What the model is sent next. There is no reply yet.' },
}

/** Returns the description of a call's receipt state. If the call has a finding, the finding's message is used as the meaning. */
export const receiptLabelOf = ({ state, finding }: Pick<CallResponse, 'state' | 'finding'>): ReceiptLabel => {
  const { means, ...rest } = words[state]
  return { state, ...rest, means: finding?.message ?? means, path: finding?.path }
}
