import { aiSdk } from './ai-sdk.ts'
import { anthropic } from './anthropic.ts'
import { atif } from './atif.ts'
import { claudeCode } from './claude-code.ts'
import { codex } from './codex.ts'
import { copilot } from './copilot.ts'
import { documents } from './documents.ts'
import type { DocumentFormat, LineFormat } from './format.ts'
import { gemini } from './gemini.ts'
import { geminiCli } from './gemini-cli.ts'
import { openAi } from './openai.ts'
import { opencode } from './opencode.ts'
import { pi } from './pi.ts'
import { responses } from './responses.ts'
import { roo } from './roo.ts'

/** The library's formats that are recognised by a single line, in the order in which they are tried. */
export const lineFormats: readonly LineFormat[] = [codex, copilot, geminiCli, pi, claudeCode]

/**
 * The library's formats that are recognised by their messages, in the order in which they are tried. The last one accepts messages that
 * no other format recognises.
 */
export const documentFormats: readonly DocumentFormat[] = [
  atif,
  opencode,
  roo,
  aiSdk,
  gemini,
  responses,
  openAi,
  anthropic,
]

/** Readers of other programs' sessions, by name of the format. */
export const readers: ReadonlyMap<string, LineFormat['read']> = new Map([
  ...lineFormats.map(({ name, read }) => [name, read] as const),
  ...documentFormats.map((format) => [format.name, documents(format)] as const),
])
