import { type Asked, askedOf, numberOf } from '../demo/demo.ts'

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

export const optionsOf = (args: readonly string[], isReal: boolean): Asked<Options> =>
  askedOf(args, usage, ['turns', 'window', 'model', 'store'], ({ turns, window, model, store }) => ({
    turns: numberOf('turns', turns ?? (isReal ? '10' : '200'), 1),
    window: numberOf('window', window ?? (isReal ? '16000' : '10000'), 8_000),
    model: nameOf(model ?? 'claude-opus-5-5'),
    store,
  }))

const nameOf = (text: string): string => {
  if (text.trim() === '') throw new Error('--model is the name of a model, such as claude-opus-5-5')
  return text
}
