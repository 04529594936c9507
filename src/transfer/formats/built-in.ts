import { anthropic } from './anthropic.ts'
import { claudeCode } from './claude-code.ts'
import { documents } from './documents.ts'
import type { DocumentFormat, LineFormat } from './format.ts'
import { openAi } from './openai.ts'
import { pi } from './pi.ts'
import { roo } from './roo.ts'

/** The library's formats that a line shows, in the order in which they are tried. */
export const lineFormats: readonly LineFormat[] = [pi, claudeCode]

/** Those that their messages show. The last one takes what no other recognises. */
export const documentFormats: readonly DocumentFormat[] = [roo, openAi, anthropic]

/** The readers of other programs' sessions, by format. */
export const readers: ReadonlyMap<string, LineFormat['read']> = new Map([
  ...lineFormats.map(({ name, read }) => [name, read] as const),
  ...documentFormats.map((format) => [format.name, documents(format)] as const),
])
