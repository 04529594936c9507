import { parseArgs } from 'node:util'

// What the demos share: how they are asked, how they print, how they end.

/** What to print in place of running: usage, or what is wrong with the arguments. */
interface Printed {
  readonly print: string
  readonly isWrong: boolean
}
export type Asked<O> = O | Printed

/** What a command line asks for, with these options, which are texts, and `--help`. `read` throws an error that says what is wrong. */
export const askedOf = <N extends string, O extends object>(
  args: readonly string[],
  usage: string,
  names: readonly N[],
  read: (values: { readonly [K in N]?: string }) => O,
): Asked<O> => {
  try {
    const texts = Object.fromEntries(names.map((name) => [name, { type: 'string' as const }]))
    const { values } = parseArgs({ args: [...args], options: { ...texts, help: { type: 'boolean' } } })
    if (values['help'] === true) return { print: usage, isWrong: false }
    return read(values as { readonly [K in N]?: string })
  } catch (error) {
    return { print: `${(error as Error).message}\n\n${usage}`, isWrong: true }
  }
}

export const numberOf = (name: string, text: string, least: number): number => {
  const value = Number(text)
  if (!Number.isInteger(value) || value < least)
    throw new Error(`--${name} must be a whole number, ${least} or more, not ${text}`)
  return value
}

export const say = (...lines: readonly string[]): void => void process.stdout.write(`${lines.join('\n')}\n`)

/** Runs a demo, or prints what there is to print. Exit code 2: wrong arguments; 1: it failed. */
export const runDemo = async <O extends object>(
  asked: Asked<O>,
  demo: (options: O) => Promise<void>,
): Promise<void> => {
  if ('print' in asked) {
    ;(asked.isWrong ? process.stderr : process.stdout).write(asked.print)
    if (asked.isWrong) process.exitCode = 2
    return
  }
  await demo(asked).catch((error: unknown) => {
    process.stderr.write(`\n${(error as Error).message}\n`)
    process.exitCode = 1
  })
}
