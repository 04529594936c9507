// An animated WebP (https://developers.google.com/speed/webp/docs/riff_container) of still ones.

/** A picture, and for how many milliseconds it is shown. */
export interface Frame {
  /** A whole WebP file, without transparency. */
  readonly webp: Buffer
  readonly ms: number
}

const number = (value: number, bytes: number): Buffer => {
  const buffer = Buffer.alloc(bytes)
  buffer.writeUIntLE(value, 0, bytes)
  return buffer
}

/** Begins at even offsets. */
const chunk = (name: string, ...data: readonly Buffer[]): Buffer => {
  const body = Buffer.concat(data)
  return Buffer.concat([Buffer.from(name), number(body.length, 4), body, Buffer.alloc(body.length % 2)])
}

/** The chunks of a file, or of a part of one. */
export const chunksIn = (
  data: Buffer,
  begin = 12,
): readonly { readonly name: string; readonly body: Buffer }[] => {
  const found: { name: string; body: Buffer }[] = []
  for (let at = begin; at + 8 <= data.length;) {
    const end = at + 8 + data.readUInt32LE(at + 4)
    found.push({ name: data.toString('latin1', at, at + 4), body: data.subarray(at + 8, end) })
    at = end + (end % 2)
  }
  return found
}

/** Frames of the same size, shown one after the other, again and again. */
export const animated = (frames: readonly Frame[], width: number, height: number): Buffer => {
  const size = [number(width - 1, 3), number(height - 1, 3)]
  const isAnimated = 0b10
  const replaces = 0b10
  const body = [
    chunk('VP8X', number(isAnimated, 4), ...size),
    // On white, for ever.
    chunk('ANIM', number(0xff_ff_ff_ff, 4), number(0, 2)),
    ...frames.map(({ webp, ms }) => {
      const pictures = chunksIn(webp).filter(({ name }) => name === 'VP8 ' || name === 'VP8L')
      const shown = pictures.map(({ name, body: picture }) => chunk(name, picture))
      return chunk('ANMF', number(0, 3), number(0, 3), ...size, number(ms, 3), number(replaces, 1), ...shown)
    }),
  ]
  return chunk('RIFF', Buffer.from('WEBP'), ...body)
}
