import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join, relative, resolve, sep } from 'node:path'
import type { TurnOptions } from '../../src/index.ts'

const text = { type: 'string' }
const tool = (name: string, description: string, properties: Readonly<Record<string, unknown>>) => ({
  name,
  description,
  input_schema: {
    type: 'object',
    properties,
    required: Object.keys(properties),
    additionalProperties: false,
  },
})

/** The tools as the API takes them. Paths are relative to the project. */
export const tools = [
  tool('list_files', 'Every file of the project, one path a line.', {}),
  tool('read_file', 'The text of a file. A long one is cut.', { path: text }),
  tool('grep', 'Every line of the project that holds this text, with its file and number.', { text }),
  tool('edit_file', 'Replaces a text that stands in a file exactly once.', {
    path: text,
    old: text,
    new: text,
  }),
  tool('write_file', 'Writes a file, in place of the one that is there.', { path: text, text }),
]

/** UTF-16 units of one output. */
const longest = 6_000
const bounded = (output: string): string =>
  output.length <= longest
    ? output
    : `${output.slice(0, longest).toWellFormed()}\n… cut: ${output.length - longest} characters more`

/** What carries them out in a folder, and nowhere else. Errors go to the model. */
export const toolsIn = (folder: string): NonNullable<TurnOptions['run']> => {
  const placeOf = (path: string): string => {
    const place = resolve(folder, path)
    if (!place.startsWith(folder + sep)) throw new Error(`${path} is outside of the project`)
    return place
  }
  const read = async (path: string): Promise<string> => {
    try {
      return await readFile(placeOf(path), 'utf8')
    } catch (error) {
      // The system's own message names the folder, which is nothing to the model.
      const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT'
      throw isMissing ? new Error(`there is no file ${path}`) : error
    }
  }
  const write = async (path: string, content: string): Promise<void> => {
    await mkdir(dirname(placeOf(path)), { recursive: true })
    await writeFile(placeOf(path), content)
  }
  const files = async (): Promise<readonly string[]> => {
    const entries = await readdir(folder, { recursive: true, withFileTypes: true })
    const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
    return paths.map((path) => relative(folder, path)).toSorted()
  }

  return {
    // What only reads may be run again where a process was killed in the middle of a call.
    list_files: { idempotent: true, run: async () => (await files()).join('\n') },
    read_file: {
      idempotent: true,
      run: async ({ path }: { readonly path: string }) => bounded(await read(path)),
    },
    grep: {
      idempotent: true,
      run: async (input: { readonly text: string }) => {
        const found: string[] = []
        for (const path of await files())
          for (const [index, line] of (await read(path)).split('\n').entries())
            if (line.includes(input.text)) found.push(`${path}:${index + 1}: ${line.trim()}`)
        return bounded(found.join('\n')) || 'No line holds it.'
      },
    },
    edit_file: async (edit: { readonly path: string; readonly old: string; readonly new: string }) => {
      const pieces = (await read(edit.path)).split(edit.old)
      if (pieces.length !== 2)
        throw new Error(`the old text stands ${pieces.length - 1} times in ${edit.path}, not once`)
      await write(edit.path, pieces.join(edit.new))
      return `Changed ${edit.path}.`
    },
    write_file: async (file: { readonly path: string; readonly text: string }) => {
      await write(file.path, file.text)
      return `Wrote ${file.path}, ${file.text.length} characters.`
    },
  }
}
