import type { Entry } from '../../src/projections/full.ts'
import { entryParts, markdownHead } from '../../src/transfer/formats/write-markdown.ts'

/** What `markdown` exports write, of entries in memory. @param entries from `full`, with or without abandoned branches */
export const markdown = (conversation: string, entries: readonly Entry[]): string =>
  [...markdownHead(conversation, entries), ...entries.flatMap((entry) => [...entryParts(entry)])].join(
    '\n\n',
  ) + '\n'
