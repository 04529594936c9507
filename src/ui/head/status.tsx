import { Glyph, type GlyphName } from './glyphs.tsx'

/** States of a conversation: the word that people read, and its sign. */
export const statuses = {
  'needs-approval': ['Needs approval', 'approval'],
  working: ['Working', 'working'],
  failed: ['Failed', 'error'],
  parked: ['Parked', 'parked'],
  idle: ['Idle', 'idle'],
} as const satisfies Readonly<Record<string, readonly [word: string, sign: GlyphName]>>

export type ConversationStatus = keyof typeof statuses

export const StatusWord = ({ status }: { readonly status: ConversationStatus }) => {
  const [word, sign] = statuses[status]
  return (
    <span class={`status-word is-${status}`}>
      <Glyph name={sign} /> {word}
    </span>
  )
}
