import { anthropic } from './anthropic.ts'
import { claudeCode } from './claude-code.ts'
import { documents } from './documents.ts'
import type { DocumentFormat, LineFormat } from './format.ts'
import { openAi } from './openai.ts'
import { pi } from './pi.ts'
import { roo } from './roo.ts'

/** The library's formats that are recognised by a line, in the order in which they are tried. */
export const lineFormats: readonly LineFormat[] = [pi, claudeCode]

/** The library's formats that are recognised by their messages. The last one accepts what no other recognises. */
export const documentFormats: readonly DocumentFormat[] = [roo, openAi, anthropic]

/** Readers of other programs' sessions, by format. */
export const readers: ReadonlyMap<string, LineFormat['read']> = new Map([
  ...lineFormats.map(({ name, read }) => [name, read] as const),
  ...documentFormats.map((format) => [format.name, documents(format)] as const),
])
