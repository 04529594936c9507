/** A message as the benchmarks write it. */
export interface BenchMessage {
  readonly role: 'user' | 'assistant'
  readonly content: string
}

const sentence =
  'The parser stops at line 80, where a string is opened and never closed, and the test says so. '

/** The `index`-th message of a conversation in which user and assistant take turns, `length` characters of prose. */
export const messageAt = (index: number, length = 1_024): BenchMessage => ({
  role: index % 2 === 0 ? 'user' : 'assistant',
  content: `${index}. ${sentence.repeat(Math.ceil(length / sentence.length))}`.slice(0, length),
})
