import { type Fields, isFields } from '../../../events/json.ts'

/**
 * Returns the endpoint's counts in the fields of the Messages API, followed by its own fields. In the Messages API, cached tokens are
 * not part of the input.
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
