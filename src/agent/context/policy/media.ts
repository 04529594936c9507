import { type Block, textBlock, unknownBlock } from '../../../events/blocks.ts'

/**
 * Converts bytes into an image or document block, or into text if they are valid UTF-8. Other bytes are recorded, but shown to the
 * model only as a note.
 */
export const bytesBlocks = (bytes: Buffer): string | readonly Block[] => {
  const data = bytes.toString('base64')
  const shown = mediaBlock(mediaTypeOf(bytes), data)
  if (shown) return [shown]
  const mimeType = 'application/octet-stream'
  return (
    utf8Of(bytes) ?? [
      noteOn('bytes', [], data),
      unknownBlock({ type: 'resource', resource: { uri: 'data:', mimeType, blob: data } }),
    ]
  )
}

export const joinFacts = (what: string, facts: readonly unknown[]): string =>
  [what, ...facts.filter((fact) => typeof fact === 'string' && fact !== '')].join(', ')

export const noteOn = (what: string, facts: readonly unknown[], data: string): Block =>
  textBlock(
    `[${joinFacts(what, facts)}, ${Buffer.byteLength(data, 'base64')} bytes: recorded, but you cannot be shown it]`,
  )

export const mediaBlock = (mediaType: string | undefined, data: string): Block | undefined =>
  mediaType === undefined
    ? undefined
    : {
        type: mediaType === 'application/pdf' ? 'document' : 'image',
        source: { type: 'base64', media_type: mediaType, data },
      }

/** Detects a file's media type from its first bytes, not its name, because the API refuses an image declared with the wrong type. */
export const mediaTypeOf = (bytes: Buffer): string | undefined => {
  const begins = (signature: string, at = 0): boolean =>
    bytes.toString('latin1', at, at + signature.length) === signature
  if (begins('\x89PNG\r\n\x1a\n')) return 'image/png'
  if (begins('\xff\xd8\xff')) return 'image/jpeg'
  if (begins('GIF8')) return 'image/gif'
  if (begins('RIFF') && begins('WEBP', 8)) return 'image/webp'
  return begins('%PDF-') ? 'application/pdf' : undefined
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** Decodes bytes as UTF-8; returns undefined if they are not text. */
export const utf8Of = (bytes: Buffer): string | undefined => {
  if (bytes.includes(0)) return undefined
  try {
    return utf8.decode(bytes)
  } catch {
    return undefined
  }
}

const dataUrl = /^data:[^,]*;base64,/

/** Removes the prefix of a data URL, leaving the Base64 data. */
export const base64In = (given: string): string => given.replace(dataUrl, '')

/**
 * Converts Base64 data into an image or document block if its media type is supported, else into a note that the data is recorded but
 * not shown.
 */
export const pictureBlocks = (given: string, mimeType: unknown): readonly Block[] => {
  const data = base64In(given)
  const shown = mediaBlock(mediaTypeOf(Buffer.from(data, 'base64')), data)
  return shown
    ? [shown]
    : [noteOn('image', [mimeType], data), unknownBlock({ type: 'image', data, mimeType })]
}
