import { type Fields, isFields } from '../../../events/json.ts'

/**
 * Converts an endpoint's token counts to the fields of the Messages API, in which cached tokens are not part of the input. The
 * endpoint's own fields are appended.
 */
export const usageOf = (usage: unknown): Fields => {
  if (!isFields(usage)) return {}
  const inside = (field: string): Fields => {
    const { [field]: details } = usage
    return isFields(details) ? details : {}
  }
  const prompt = countIn(usage, 'prompt_tokens')
  const cached = Math.min(
    prompt,
    countIn(inside('prompt_tokens_details'), 'cached_tokens') || countIn(usage, 'prompt_cache_hit_tokens'),
  )
  const written = Math.min(prompt - cached, countIn(inside('prompt_tokens_details'), 'cache_write_tokens'))
  return {
    input_tokens: prompt - cached - written,
    cache_read_input_tokens: cached,
    cache_creation_input_tokens: written,
    output_tokens: countIn(usage, 'completion_tokens'),
    ...usage,
  }
}

const countIn = (fields: Fields, name: string): number => {
  const { [name]: count } = fields
  return typeof count === 'number' && count > 0 ? count : 0
}
