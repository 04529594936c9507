import { answerTo, blockAt } from './embedded/answers.ts'
import type { EmbeddedFile } from './embedded/form.ts'
import { toThrowable, type SourceProblem, type ApiSource } from './source.ts'

/** Returns the source for a page without a server: it computes API responses from the events embedded in the page. */
export const embeddedSource = (file: EmbeddedFile): ApiSource => ({
  isLive: false,
  access: () => undefined,
  get: async <T>(path: string): Promise<T> => {
    const answer = await answerTo(file, path)
    if (answer === undefined) throw toThrowable(notHere(path))
    return answer as T
  },
  post: () => Promise.reject(toThrowable(readOnly)),
  file: () => Promise.reject(toThrowable(readOnly)),
  bytes: async (path, { from = 0, to } = {}) => {
    const blob = blockAt(file, path)
    if (!blob) throw toThrowable(notHere(path))
    const part = blob.slice(from, to === undefined ? undefined : to + 1, blob.type)
    return { blob: part, type: blob.type, total: blob.size }
  },
  follow: () => () => undefined,
})

const notHere = (path: string): SourceProblem => ({
  title: 'This file does not contain that',
  detail: `It is a copy of one conversation; ${path} is only available from its store.`,
  status: 404,
})

const readOnly: SourceProblem = {
  title: 'This is a copy',
  detail: 'It cannot be changed: open the store that it was exported from.',
  status: 403,
  tag: 'ReadOnly',
}
