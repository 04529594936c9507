/** Maximum bytes of an answer. A timestamp with all certificates has some 6,000, a note of many witnesses fewer. */
const most = 65_536

/** Reads the body of an answer. Throws if it is longer than `most`. */
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
