/** Returns the longest prefix of `text` that takes at most `bytes` bytes in UTF-8 and does not split a character. */
export const beginningOf = (text: string, bytes: number): string => {
  const start = Buffer.from(text.slice(0, Math.max(0, bytes)))
  let end = Math.min(start.length, Math.max(0, bytes))
  while (end < start.length && isInside(start[end])) end--
  return text.slice(0, wholeAt(text, start.toString('utf8', 0, end).length))
}

/** Returns the longest suffix of `text` that takes at most `bytes` bytes in UTF-8 and does not split a character. */
export const endOf = (text: string, bytes: number): string => {
  if (bytes <= 0) return ''
  const rest = Buffer.from(text.slice(-bytes))
  let from = Math.max(0, rest.length - bytes)
  while (from < rest.length && isInside(rest[from])) from++
  const at = text.length - rest.toString('utf8', from).length
  return text.slice(wholeAt(text, at) === at ? at : at + 1)
}

/** Reports whether a byte is a UTF-8 continuation byte. */
const isInside = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80

/** Returns `index`, or `index - 1` if a cut at `index` would split a surrogate pair. */
const wholeAt = (text: string, index: number): number => {
  const isParting = /[\uDC00-\uDFFF]/.test(text[index] ?? '') && /[\uD800-\uDBFF]/.test(text[index - 1] ?? '')
  return isParting ? index - 1 : index
}
