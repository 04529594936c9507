import { hash } from 'node:crypto'
import { isFields } from '../../../../events/json.ts'
import type { ModelRequest } from '../../model.ts'

// Ids and names that the API accepts. A replacement depends only on the id or name that it replaces, so that a request has the same
// beginning as the previous one.

const longestId = 40
const shortHash = (text: string, length: number): string => hash('sha256', text, 'base64url').slice(0, length)

/**
 * Returns a call's id, replaced with a hash if it is longer than 40 characters. Ids in a rendered request contain only letters, digits,
 * `_` and `-`.
 */
export const callId = (id: string): string => (id.length <= longestId ? id : `call_${shortHash(id, 32)}`)

const longestName = 64
const isName = (name: string): boolean => /^[a-zA-Z0-9_-]{1,64}$/.test(name)

export const toolName = (name: string): string => {
  if (isName(name)) return name
  const print = shortHash(name, 8)
  return `${name.replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, longestName - print.length - 1)}_${print}`
}

/** Returns a function that maps a tool name as sent to the model back to the tool's name in the request. */
export const namesIn = ({ tools = [] }: Pick<ModelRequest, 'tools'>): ((sent: string) => string) => {
  const names = new Map(
    tools.filter(isFields).map((tool) => [toolName(String(tool['name'])), String(tool['name'])]),
  )
  return (sent) => names.get(sent) ?? sent
}
