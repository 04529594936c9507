import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { toError } from '../store/errors.ts'
import { type Failure, failureOf } from './errors.ts'

/** Loads modules by their paths, in order: what they register (`registerStore`) is there for the command. Throws `PlugInFailed`. */
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
  message: `${file} cannot be loaded (${messageOf(error)}): check the path that --import names, and what the module does`,
  file,
})

const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : failureOf(error).message
