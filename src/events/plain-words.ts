const nouns: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
  null: 'null',
}

const limits: Readonly<Record<string, string>> = {
  '<=': 'at most',
  '>=': 'at least',
  '<': 'less than',
  '>': 'more than',
  'exactly ': 'exactly',
}

/** Replaces zod's own messages by messages for people; any other message, such as one of a schema, stays. */
export const inPlainWords = (message: string): string => {
  const choices = /^Invalid (?:option: expected one of|discriminator value\. Expected) (.*)$/.exec(
    message,
  )?.[1]
  if (choices !== undefined)
    return `must be one of ${choices
      .replaceAll(/["']/g, '')
      .split(/ ?\| ?/)
      .join(', ')}`
  const [, sign = '', size, unit] =
    /^Too (?:big|small): expected \w+ to (?:have|be) ([<>]=?|exactly )(\S+)(?: (characters|items))?$/.exec(
      message,
    ) ?? []
  if (size !== undefined && unit !== undefined)
    return sign === '>=' && size === '1'
      ? 'must not be empty'
      : `must have ${limits[sign]} ${size} ${size === '1' ? unit.slice(0, -1) : unit}`
  if (size !== undefined) return `must be ${limits[sign]} ${size}`
  if (message === 'Invalid ISO datetime')
    return 'must be a time in ISO 8601 and UTC, such as 2026-01-31T12:00:00Z'
  const [, only] = /^Invalid input: expected ("\w+"|true|false|null|\d+)$/.exec(message) ?? []
  if (only !== undefined) return `must be ${only}`
  const [, expected = '', received = ''] =
    /^Invalid input: expected (\w+(?:\|\w+)*), received (\w+)$/.exec(message) ?? []
  const kinds = expected.split('|').map((kind) => nouns[kind])
  if (kinds.includes(undefined)) return message
  const must = [...new Set(kinds)].join(' or ')
  if (received === 'undefined') return `is missing: it must be ${must}`
  const given = nouns[received] ?? received
  return given === 'a number' && must === nouns['int'] ? `must be ${must}` : `must be ${must}, not ${given}`
}
