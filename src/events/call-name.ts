import { z } from 'zod'

/**
 * Name of a model call: its number, from 1. If its reply has no receipt, the name is `p` and the position of the reply, such as `p17`.
 */
export type CallName = number | `p${number}`

const rule = 'must be the number of a call, from 1, or p followed by the position of a reply, such as p17'

export const callNameSchema = z.union([z.int().min(1), z.string().regex(/^p\d{1,15}$/)], { error: rule })

/** Parses a call name from a path or a command line; undefined if the text is not a call name. */
export const callNameIn = (text: string): CallName | undefined => {
  const [, p, digits] = /^(p?)(\d{1,15})$/.exec(text) ?? []
  const number = Number(digits)
  if (p === 'p') return `p${number}`
  return number >= 1 ? number : undefined
}
