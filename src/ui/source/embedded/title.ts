import type { EmbeddedFile } from './form.ts'

interface Noted {
  readonly kind: string
  readonly data?: unknown
}

/** Returns the title from the last title note; undefined if no title was noted. */
export const titleOf = ({ conversation, answers }: EmbeddedFile): string | undefined => {
  const notes = answers[`/conversations/${encodeURIComponent(conversation)}/notes`]
  const { items = [] } = (notes ?? {}) as { readonly items?: readonly Noted[] }
  const title = items.findLast(({ kind, data }) => kind === 'title' && typeof data === 'string')?.data
  return typeof title === 'string' ? title : undefined
}
