import { type EmbeddedFile, holder } from './form.ts'

/** Reads the file embedded in the page, if there is one. */
export const embeddedFile = (): EmbeddedFile | undefined => {
  const text = document.getElementById(holder)?.textContent
  return text ? (JSON.parse(text) as EmbeddedFile) : undefined
}
