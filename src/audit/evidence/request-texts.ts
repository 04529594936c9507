import canonicalize from 'canonicalize'
import { type SentPart, type SentRequest, textOf } from '../../agent/receipts/canonical.ts'

/**
 * Splits the canonical JSON of a request, which its receipt's digest covers, into pieces. The content of each block or message is a
 * separate piece, identical in every request that contains it, with or without a cache breakpoint.
 */
export const requestTexts = ({ chat, messages, system, tools }: SentRequest): readonly string[] => {
  const texts: string[] = []
  let between = '{"messages":['
  const add = (part: SentPart): void => {
    const [opening, body] = opened(part)
    texts.push(between + opening, body)
    between = ','
  }
  if (chat) for (const message of chat.messages) add(message)
  else
    for (const [index, { role, content, ...fields }] of messages.entries()) {
      between += `${index > 0 ? ',' : ''}{"content":[`
      for (const block of content) add(block)
      const more = Object.keys(fields).length > 0 ? `${canonicalize(fields)?.slice(1, -1)},` : ''
      between = `${content.length > 0 ? '' : between}],${more}"role":"${role}"}`
    }
  if (chat && chat.messages.length > 0) between = ''
  texts.push(`${between}]`)
  const after = chat ? { tools: chat.tools } : { system, tools }
  const rest = canonicalize(JSON.parse(JSON.stringify(after))) ?? '{}'
  return [...texts, rest === '{}' ? '}' : `,${rest.slice(1)}`]
}

/** Splits the JSON of a block or message into its opening, which may contain a cache breakpoint, and the rest. */
const opened = (part: SentPart): readonly [string, string] => {
  const text = textOf(part)
  const marked = 'cache_control' in part ? `{"cache_control":${canonicalize(part['cache_control'])},` : '{'
  const opening = text.startsWith(marked) ? marked : '{'
  return [opening, text.slice(opening.length)]
}
