import { type EmbeddedFile, holder } from './form.ts'

/** The file that a page was written with, if it is one. */
export const embeddedFile = (): EmbeddedFile | undefined => {
  const text = document.getElementById(holder)?.textContent
  return text ? (JSON.parse(text) as EmbeddedFile) : undefined
}
