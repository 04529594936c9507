import { z } from 'zod'
import { type Codec, codecOf, type FactEnvelope, type FactOf } from './facts.ts'

// The file of another program from which a conversation was imported, to the byte, in its own stream (ADR 61).

/** Maximum number of bytes of a file in one event. */
export const mostArchived = 256 * 1024

const archiveSchemas = {
  /**
   * A part of the file was read: `bytes` bytes from the offset `from` on. It takes the place of what earlier events have from there on,
   * so an event with offset 0 begins the file again.
   */
  FileArchived: z.object({
    /** Format in which the file was read. */
    format: z.string().min(1).max(200),
    from: z.int().min(0),
    bytes: z.int().min(1).max(mostArchived),
    /** The part, compressed with Zstandard (RFC 8878), in base64; absent once it is erased. */
    zstd: z.base64().optional(),
    /** SHA-256 (hex) of the file up to the end of this part; absent once it is erased. */
    sha256: z
      .string()
      .regex(/^[0-9a-f]{64}$/)
      .optional(),
  }),
}

export type ArchiveFact = FactOf<typeof archiveSchemas, 'FileArchived'>
export type ArchiveEvent = ArchiveFact & FactEnvelope

export const archiveCodec: Codec<typeof archiveSchemas> = codecOf(archiveSchemas)
