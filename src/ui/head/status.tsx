import { Glyph, type GlyphName } from './glyphs.tsx'
import { type ConversationStatus, statusWords } from './statuses.ts'

const signs: Readonly<Record<ConversationStatus, GlyphName>> = {
  'needs-approval': 'approval',
  working: 'working',
  failed: 'error',
  parked: 'parked',
  idle: 'idle',
}

export const StatusWord = ({ status }: { readonly status: ConversationStatus }) => (
  <span class={`status-word is-${status}`}>
    <Glyph name={signs[status]} /> {statusWords[status]}
  </span>
)
