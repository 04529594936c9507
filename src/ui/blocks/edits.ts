import { diffArrays } from 'diff'

// Edits of files, as tools are asked to make them and as programs print them.

/** Line of a file before and after an edit: `same`, `removed`, `added`, or a heading such as the name of a file. */
export interface EditLine {
  readonly kind: 'same' | 'removed' | 'added' | 'heading'
  readonly text: string
}

/** Text that is replaced by another; the text before is empty if a file is written. */
export interface FileEdit {
  readonly before: string
  readonly after: string
}

type Fields = Readonly<Record<string, unknown>>

/** Names that programs give to the text before and after. */
const pairs = [
  ['old_string', 'new_string'],
  ['oldString', 'newString'],
  ['old_str', 'new_str'],
  ['oldText', 'newText'],
  ['old_text', 'new_text'],
  ['old', 'new'],
] as const
const paths = ['file_path', 'filePath', 'path', 'filename']
const patches = ['input', 'patch', 'patchText', 'diff', 'command']
const contents = ['content', 'file_text', 'contents']

/** Edits in the input of a tool, and the names of the fields that have them. */
export interface InputEdits {
  readonly fields: readonly string[]
  readonly edits: readonly FileEdit[]
  /** Edits as a text, in the form of `diff` or of `apply_patch`. */
  readonly patch?: string
}

/** Maximum number of edits in one input. */
const mostEdits = 100

/** Finds the edits of a file in the input of a tool; undefined if there are none. */
export const editsIn = (input: Fields, tool: string): InputEdits | undefined => {
  const one = editOf(input)
  if (one) return one
  const list = input['edits']
  if (Array.isArray(list) && list.length > 0 && list.length <= mostEdits) {
    const edits = list.map((each) => (isFields(each) ? editOf(each)?.edits[0] : undefined))
    if (edits.every((edit) => edit !== undefined)) return { fields: ['edits'], edits }
  }
  for (const name of patches) {
    const value = input[name]
    if (typeof value === 'string' && (value.startsWith('*** Begin Patch') || isPatch(value)))
      return { fields: [name], edits: [], patch: value }
  }
  const content = contents.find((name) => typeof input[name] === 'string')
  if (content === undefined || !/write|create|edit/i.test(tool) || !paths.some((name) => name in input))
    return undefined
  return { fields: [content], edits: [{ before: '', after: input[content] as string }] }
}

const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null

const editOf = (input: Fields): InputEdits | undefined => {
  const pair = pairs.find(
    ([before, after]) => typeof input[before] === 'string' && typeof input[after] === 'string',
  )
  if (!pair) return undefined
  const [before, after] = pair
  return { fields: pair, edits: [{ before: input[before] as string, after: input[after] as string }] }
}

/** Reports whether a text is a unified diff, as `diff -u` and git print it. */
export const isPatch = (text: string): boolean =>
  /^(?:diff --git |Index: |--- )/.test(text.slice(0, 2_000)) && /^@@ -\d/m.test(text.slice(0, 10_000))

/** Reads the lines of a unified diff, whose hunks say how many lines they have, or of a patch for `apply_patch`. */
export const patchLines = (patch: string): readonly EditLine[] => {
  const isCounted = !patch.startsWith('*** Begin Patch')
  let [old, next] = [0, 0]
  const isInside = (line: string): boolean =>
    isCounted ? old > 0 || next > 0 : !/^(?:@@|\*\*\* )/.test(line)
  return patch
    .replace(/\n$/, '')
    .split('\n')
    .flatMap((line): readonly EditLine[] => {
      if (isInside(line)) {
        if (line.startsWith('\\')) return []
        if (!line.startsWith('+')) old--
        if (!line.startsWith('-')) next--
        const kind = line.startsWith('+') ? 'added' : line.startsWith('-') ? 'removed' : 'same'
        return [{ kind, text: line.slice(1) }]
      }
      const [, before = '1', after = '1'] = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/.exec(line) ?? [
        '',
        '0',
        '0',
      ]
      ;[old, next] = [Number(before), Number(after)]
      if (/^(?:\*\*\* (?:Begin|End) Patch|index |=+$|\\|$)/.test(line)) return []
      return [{ kind: 'heading', text: line }]
    })
}

/** Maximum number of pairs of lines that are compared in the changed middle of a text. */
const mostPairs = 100_000

/**
 * Compares two texts line by line. If too many lines differ, all lines between the common beginning and the common end are removed and
 * added.
 */
export const editLines = ({ before, after }: FileEdit): readonly EditLine[] => {
  const [old, next] = [linesOf(before), linesOf(after)]
  let start = 0
  while (start < old.length && start < next.length && old[start] === next[start]) start++
  let end = 0
  while (
    end < old.length - start &&
    end < next.length - start &&
    old[old.length - 1 - end] === next[next.length - 1 - end]
  )
    end++
  const same = (lines: readonly string[]) => lines.map((text): EditLine => ({ kind: 'same', text }))
  return [
    ...same(old.slice(0, start)),
    ...compared(old.slice(start, old.length - end), next.slice(start, next.length - end)),
    ...same(old.slice(old.length - end)),
  ]
}

const linesOf = (text: string): readonly string[] => (text === '' ? [] : text.replace(/\n$/, '').split('\n'))

/** Lists the lines of two texts: common ones once, removed ones before added ones. */
const compared = (old: readonly string[], next: readonly string[]): readonly EditLine[] => {
  const listed = (kind: EditLine['kind'], lines: readonly string[]) => lines.map((text) => ({ kind, text }))
  if (old.length * next.length > mostPairs) return [...listed('removed', old), ...listed('added', next)]
  return diffArrays([...old], [...next]).flatMap(({ value, added, removed }) =>
    listed(added ? 'added' : removed ? 'removed' : 'same', value),
  )
}
