import { AsyncLocalStorage } from 'node:async_hooks'
import { readdirSync, utimesSync } from 'node:fs'
import promises from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { keyFolder } from '../../../src/store/seal/key-folder.ts'
import { temporaryFolder } from '../../support/stores.ts'

// A writer is stopped before a step on its files, for any time, as a process is by SIGSTOP or a laptop by its lid.

const names = ['link', 'open', 'readdir', 'readFile', 'rename', 'rm', 'stat'] as const
const originals = names.map((name) => [name, promises[name]] as const)
const steps = new AsyncLocalStorage<(name: string) => Promise<void>>()

beforeAll(() => {
  for (const [name, original] of originals)
    Reflect.set(promises, name, async (...given: readonly unknown[]) => {
      await steps.getStore()?.(name)
      return Reflect.apply(original as (...args: readonly unknown[]) => unknown, promises, given)
    })
  syncBuiltinESMExports()
})
afterAll(() => {
  for (const [name, original] of originals) Reflect.set(promises, name, original)
  syncBuiltinESMExports()
})

/** Starts work that stops before a step: the one of this number, or the first one of this name. */
const stoppedAt = async <A>(step: number | string, work: () => Promise<A>) => {
  const [stop, gate] = [Promise.withResolvers<boolean>(), Promise.withResolvers<void>()]
  let count = 0
  const ended = steps.run(
    async (name) => {
      if (count++ !== step && name !== step) return
      stop.resolve(true)
      await gate.promise
    },
    () => work().finally(() => stop.resolve(false)),
  )
  const isStopped = await stop.promise
  return { isStopped, resumed: () => (gate.resolve(), ended) }
}

/** Makes all files look as if they had been written long ago. */
const age = (folder: string): void => {
  const longAgo = new Date(Date.now() - 60_000)
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' }))
    utimesSync(join(folder, name), longAgo, longAgo)
}

describe('a key folder', () => {
  it('has the text of the one writer that was told so, though both are stopped at any step', async () => {
    for (let first = 0, isFirstStopped = true; isFirstStopped; first++)
      for (let second = 0, isSecondStopped = true; isSecondStopped; second++) {
        const folder = temporaryFolder()
        const keys = keyFolder(folder)
        await keys.write('a', 'none', undefined)
        const write = async (text: string): Promise<string | undefined> => {
          for (let attempt = 0; attempt < 3; attempt++) if (await keys.write('a', text, 'none')) return text
          return undefined
        }
        const one = await stoppedAt(first, () => write('one'))
        age(folder)
        const other = await stoppedAt(second, () => write('other'))
        const winners = [await one.resumed(), await other.resumed()].filter((text) => text !== undefined)
        expect({ first, second, winners }).toEqual({ first, second, winners: [await keys.read('a')] })
        isFirstStopped = one.isStopped
        isSecondStopped = other.isStopped
      }
  })

  it('refuses a writer that was stopped while very many others wrote', async () => {
    const keys = keyFolder(temporaryFolder())
    await keys.write('a', '0', undefined)
    const stopped = await stoppedAt('link', () => keys.write('a', 'stopped', '0'))
    for (let n = 0; n < 20; n++) expect(await keys.write('a', `${n + 1}`, `${n}`)).toBe(true)
    expect(await stopped.resumed()).toBe(false)
    expect(await keys.read('a')).toBe('20')
    expect(await keys.write('a', '21', '20')).toBe(true)
  })
})
