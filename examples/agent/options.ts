import { parseArgs } from 'node:util'

export interface Options {
  readonly turns: number
  /** Tokens. */
  readonly window: number
  readonly model: string
  readonly store: string | undefined
}

const usage = `npm run demo:agent [-- OPTIONS]

An agent tidies up a small program, in a window so small that its conversation
is condensed and truncated again and again. Without ANTHROPIC_API_KEY it asks a
strict stand-in for the API in this process, which costs nothing. With it, it
asks the API: ten turns may take half a million input tokens, most of them read
from the cache, and 20,000 of output.

  --turns N     how many prompts it gets (200; with the API 10)
  --window N    its context window in tokens, 8000 or more (10000; with the API
                16000)
  --model NAME  the model that works (claude-opus-5-5)
  --store URL   where the conversation goes (a new file in a new directory)
  --help        print this
`

/** @returns what to print and not to run: usage, or what is wrong with the arguments */
export const optionsOf = (
  args: readonly string[],
  isReal: boolean,
): Options | { readonly print: string; readonly isWrong: boolean } => {
  try {
    const string = { type: 'string' } as const
    const { values } = parseArgs({
      args: [...args],
      options: { turns: string, window: string, model: string, store: string, help: { type: 'boolean' } },
    })
    if (values.help) return { print: usage, isWrong: false }
    return {
      turns: numberOf('turns', values.turns ?? (isReal ? '10' : '200'), 1),
      window: numberOf('window', values.window ?? (isReal ? '16000' : '10000'), 8_000),
      model: nameOf(values.model ?? 'claude-opus-5-5'),
      store: values.store,
    }
  } catch (error) {
    return { print: `${(error as Error).message}\n\n${usage}`, isWrong: true }
  }
}

const nameOf = (text: string): string => {
  if (text.trim() === '') throw new Error('--model is the name of a model, such as claude-opus-5-5')
  return text
}

const numberOf = (name: string, text: string, least: number): number => {
  const value = Number(text)
  if (!Number.isInteger(value) || value < least)
    throw new Error(`--${name} is a whole number, ${least} or more, not ${text}`)
  return value
}
