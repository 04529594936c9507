import { referencesIn } from '../../events/secrets.ts'
import { visible } from '../../transfer/formats/visible.ts'
import type { RenderResult } from '../../index.ts'
import type { Host } from '../host.ts'
import { shellWord } from '../text.ts'

type RequestBody = Readonly<Record<string, unknown>>

/** Facts about a request that do not belong in its body. */
interface RequestFacts extends Partial<Pick<RenderResult, 'repairs' | 'awaits'>> {
  /** Names of beta features, which are requested in a header. */
  readonly betas?: unknown
  /** Id of the conversation. */
  readonly conversation: string
}

/** Writes to standard error what someone must know who posts the body of a request, one fact a line. */
export const writeRequestNotes = (host: Host, body: RequestBody, facts: RequestFacts): void => {
  for (const line of notesOn(body, facts)) host.stderr.write(`${visible(line)}\n`)
}

const notesOn = (
  body: RequestBody,
  { repairs = [], awaits, betas, conversation }: RequestFacts,
): readonly string[] => {
  const kinds = Map.groupBy(repairs, ({ kind }) => kind)
  const counts = [...kinds].map(([kind, all]) => `${all.length} ${kind}`).join(', ')
  const { messages: _, ...settings } = body
  const secrets = referencesIn(settings).join(', ')
  return [
    ...(counts === '' ? [] : [`repairs: ${counts}`]),
    ...(awaits === 'user' ? ["it is the user's turn: append a message before you send this request"] : []),
    ...(awaits === 'beginning' ? ['there is nothing to send: append a message first'] : []),
    ...missingIn(body, conversation),
    ...(Array.isArray(betas) ? [`send the header anthropic-beta: ${betas.join(',')}`] : []),
    ...(secrets === '' ? [] : [`secrets are not recorded: put in the value of ${secrets}`]),
  ]
}

/** Options in the example for the fields that the API requires, besides the messages. */
const examples: ReadonlyMap<string, string> = new Map([
  ['model', '--model MODEL'],
  ['max_tokens', `--parameters '{"max_tokens": 8192}'`],
])

const missingIn = (body: RequestBody, conversation: string): readonly string[] => {
  const missing = [...examples].filter(([field]) => body[field] === undefined)
  if (missing.length === 0) return []
  const names = missing.map(([field]) => field).join(', ')
  const example = missing.map(([, text]) => text).join(' ')
  const record = `palimpsest configure ${shellWord(conversation)} ${example}`
  return [`the log has no ${names}: add to the body, or record with ${record}`]
}
