/** Maximum size of an answer in bytes. A timestamp with all certificates has about 6,000 bytes; a note of many witnesses has fewer. */
const most = 65_536

/** Reads the body of an HTTP response. Throws if it is longer than `most` bytes. */
export const bytesOf = async ({ body }: Response): Promise<Buffer> => {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of body ?? []) {
    bytes += chunk.length
    if (bytes > most) throw new Error(`with more than ${most} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
