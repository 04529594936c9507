import { createReadStream } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { crc32, createDeflateRaw } from 'node:zlib'

// ZIP archives of folders (APPNOTE 6.3.10), made piece by piece as they are read. ZIP64 is not supported: archives must be below 4 GB.

const version = 20
/** Flags of a ZIP entry: names are in UTF-8; sizes and checksum follow the content. */
const flags = 0x0808
const deflated = 8
/** Date of every file: 1980-01-01, the earliest of the format. A fixed date makes the archive independent of the time when it was made. */
const date = 0x0021

interface Entry {
  readonly name: Buffer
  readonly offset: number
  readonly crc: number
  readonly packed: number
  readonly size: number
}

/**
 * Yields a ZIP archive of the files in a folder, in the order of their names.
 *
 * @param prefix prefix of each name, such as `task-42/`
 */
export async function* zipFolder(folder: string, prefix: string): AsyncGenerator<Uint8Array, void> {
  const entries: Entry[] = []
  let offset = 0
  const names = (await readdir(folder)).toSorted()
  for (const file of names) {
    const path = join(folder, file)
    if (!(await stat(path)).isFile()) continue
    const name = Buffer.from(prefix + file)
    const begin = offset
    const header = Buffer.concat([record(0x04034b50, [version], { crc: 0, packed: 0, size: 0, name }), name])
    offset += header.length
    yield header
    let crc = 0
    let size = 0
    let packed = 0
    const deflating = createDeflateRaw()
    const reading = createReadStream(path).on('data', (piece) => {
      crc = crc32(piece, crc)
      size += piece.length
    })
    reading.on('error', (error) => deflating.destroy(error))
    for await (const piece of reading.pipe(deflating) as AsyncIterable<Uint8Array>) {
      packed += piece.length
      yield piece
    }
    const trailer = words(0x08074b50, crc, packed, size)
    offset += packed + trailer.length
    yield trailer
    entries.push({ name, offset: begin, crc, packed, size })
  }
  const central = Buffer.concat(entries.map(centralOf))
  yield central
  const count = entries.length
  yield Buffer.concat([
    words(0x06054b50),
    halves(0, 0, count, count),
    words(central.length, offset),
    halves(0),
  ])
}

const centralOf = (entry: Entry): Buffer =>
  Buffer.concat([
    record(0x02014b50, [version, version], entry),
    // No comment, one disk, no attributes.
    halves(0, 0, 0),
    words(0, entry.offset),
    entry.name,
  ])

/** Makes the fields that the local header and the central directory entry of a file have in common. */
const record = (
  signature: number,
  versions: readonly number[],
  { crc, packed, size, name }: Omit<Entry, 'offset'>,
): Buffer =>
  Buffer.concat([
    words(signature),
    halves(...versions, flags, deflated, 0, date),
    words(crc, packed, size),
    halves(name.length, 0),
  ])

const words = (...values: readonly number[]): Buffer => {
  const buffer = Buffer.alloc(4 * values.length)
  for (const [n, value] of values.entries()) buffer.writeUInt32LE(value, 4 * n)
  return buffer
}

const halves = (...values: readonly number[]): Buffer => {
  const buffer = Buffer.alloc(2 * values.length)
  for (const [n, value] of values.entries()) buffer.writeUInt16LE(value, 2 * n)
  return buffer
}
