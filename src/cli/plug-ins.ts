import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { toError } from '../result/typed.ts'
import { type Failure, failureOf } from './errors.ts'

/** Loads modules by path, in order, so that the command can use what they register (`registerStore`). Throws `PlugInFailed`. */
export const loadPlugIns = async (files: readonly string[]): Promise<void> => {
  for (const file of files) {
    try {
      await import(pathToFileURL(resolve(file)).href)
    } catch (error) {
      throw toError(plugInFailed(file, error))
    }
  }
}

const plugInFailed = (file: string, error: unknown): Failure => ({
  _tag: 'PlugInFailed',
  message: `${file} cannot be loaded (${messageOf(error)}): check the path given to --import, and the module itself`,
  file,
})

const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : failureOf(error).message
