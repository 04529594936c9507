import { type EmbeddedFile, holder } from './form.ts'

/** Reads the conversation embedded in the page; undefined if the page has none. */
export const embeddedFile = (): EmbeddedFile | undefined => {
  const text = document.getElementById(holder)?.textContent
  return text ? (JSON.parse(text) as EmbeddedFile) : undefined
}
