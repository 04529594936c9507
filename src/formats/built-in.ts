import { anthropic } from './anthropic.ts'
import { claudeCode } from './claude-code.ts'
import { documents } from './documents.ts'
import type { DocumentFormat, LineFormat } from './format.ts'
import { openAi } from './openai.ts'
import { pi } from './pi.ts'
import { roo } from './roo.ts'

/** The library's formats that are told by a line, in the order in which they are asked. */
export const lineFormats: readonly LineFormat[] = [pi, claudeCode]

/** Those that are told by their messages: what no other claims is the last one's. */
export const documentFormats: readonly DocumentFormat[] = [roo, openAi, anthropic]

/** How sessions of other programs are read, by the names of their formats. */
export const readers: ReadonlyMap<string, LineFormat['read']> = new Map([
  ...lineFormats.map(({ name, read }) => [name, read] as const),
  ...documentFormats.map((format) => [format.name, documents(format)] as const),
])
