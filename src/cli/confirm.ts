import type { Host } from './host.ts'

/** Asks a question on standard error, and reads the answer from standard input. Returns true only for `y` or `yes`. */
export const confirm = async ({ stdin, stderr }: Host, question: string): Promise<boolean> => {
  const { createInterface } = await import('node:readline')
  const asking = createInterface({ input: stdin, output: stderr, terminal: false })
  const answer = await new Promise<string>((resolve) => {
    asking.question(`${question} [y/N] `, resolve)
    // The end of the input means no.
    asking.once('close', () => resolve(''))
  })
  asking.close()
  return /^y(es)?$/i.test(answer.trim())
}
