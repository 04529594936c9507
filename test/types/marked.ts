import { readFileSync } from 'node:fs'
import { hovers, type Place } from './language-server.ts'

interface Expected extends Place {
  readonly shown: string
}

/** The places that a file marks, each with what should be shown there. */
const expectedIn = (file: string): readonly Expected[] => {
  const lines = readFileSync(file, 'utf8').split('\n')
  const isMark = (line = ''): boolean => /^ *\/\/ *\^ /.test(line)
  return lines.flatMap((text, index) => {
    const [mark, shown] = isMark(text) ? text.split('^ ') : []
    const line = lines.findLastIndex((other, at) => at < index && !isMark(other))
    return mark === undefined || shown === undefined ? [] : [{ line, character: mark.length, shown }]
  })
}

/** What an editor shows at the places that a file marks, and what it should show. */
export const shownIn = async (
  folder: string,
  file: string,
): Promise<{ readonly shown: readonly unknown[]; readonly expected: readonly string[] }> => {
  const expected = expectedIn(file)
  const found = await hovers(folder, file, expected)
  return { shown: found.map(({ shown }) => shown), expected: expected.map(({ shown }) => shown) }
}
