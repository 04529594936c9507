import type { SessionEntry } from '../../../src/frameworks/claude-agent-sdk.ts'

/** Returns the n-th entry of a session: a prompt, or the reply to it. */
export const line = (name: string, index: number): SessionEntry => ({
  type: index % 2 === 0 ? 'user' : 'assistant',
  uuid: `${name}-${index}`,
  parentUuid: index === 0 ? null : `${name}-${index - 1}`,
  timestamp: '2026-01-01T00:00:00.000Z',
  sessionId: 's',
  message:
    index % 2 === 0
      ? { role: 'user', content: `Question ${index} of ${name}.` }
      : {
          id: `msg_${name}_${index}`,
          role: 'assistant',
          content: [{ type: 'text', text: `Answer ${index} of ${name}.` }],
          stop_reason: 'end_turn',
        },
})

export const lines = (name: string, from: number, to: number): SessionEntry[] =>
  Array.from({ length: to - from }, (_, index) => line(name, from + index))
