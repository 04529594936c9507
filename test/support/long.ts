/** A text of about so many characters, of one to four bytes each, in numbered lines: each can be found. */
export const longText = (length: number): string => {
  const lines: string[] = []
  for (let size = 0; size < length; size += lines.at(-1)?.length ?? 0)
    lines.push(`line ${lines.length}: "all" work, größer — 日本 😀\n`)
  return lines.join('')
}
