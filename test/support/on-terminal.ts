import { Readable, Writable } from 'node:stream'
import { stripVTControlCharacters } from 'node:util'
import { expect } from 'vitest'
import { run } from '../../src/cli/run.ts'

/** Returns the lines that a command writes on a terminal of so many columns, without colours. */
export const onTerminal = async (args: readonly string[], columns: number): Promise<readonly string[]> => {
  let written = ''
  const write = (chunk: Buffer, _: unknown, done: () => void): void => {
    written += chunk.toString()
    done()
  }
  const stdout = Object.assign(new Writable({ write }), { isTTY: true, columns })
  const stderr = new Writable({ write: (_, __, done) => done() })
  expect(await run(args, { stdin: Readable.from([]), stdout, stderr, env: {} })).toBe(0)
  return stripVTControlCharacters(written).trimEnd().split('\n')
}
