import { visible } from '../../transfer/formats/visible.ts'

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** A text that is nothing but text in HTML, in attributes too, and reorders nothing. */
export const escaped = (text: string): string =>
  visible(text).replaceAll(/[&<>"']/g, (character) => entities[character] ?? '')
