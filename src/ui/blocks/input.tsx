import { useEffect, useMemo, useState } from 'preact/hooks'
import { problemOf } from '../source/source.ts'
import { count, number, size } from '../words.ts'
import { Changes } from './changes.tsx'
import { Code } from './code.tsx'
import { leastCut } from './cut.ts'
import { editLines, editsIn, type EditLine, type FileEdit, type InputEdits, patchLines } from './edits.ts'
import { JsonTree } from './json-tree.tsx'
import { More } from './more.tsx'
import { Part, Text } from './text.tsx'
import { type BlockParts, mayBeCut, textOf } from './whole.ts'

interface InputProps extends BlockParts {
  readonly of: unknown
  /** Name of the tool. */
  readonly tool: string
}

type Fieldset = Readonly<Record<string, unknown>>

/** Shows the input of a tool call: an edit of a file as a diff, and other fields one per line. */
export const Input = ({ of, tool, ...parts }: InputProps) => {
  if (parts.isPart) return <Part value={of} path={['input']} {...parts} />
  if (typeof of !== 'object' || of === null || Array.isArray(of))
    return <Text text={textOf(of)} as={parts.text} isOpen={parts.isOpen} />
  const input = of as Fieldset
  const edits = parts.text === 'exact' ? undefined : editsIn(input, tool)
  if (!edits) return <Fields of={input} {...parts} />
  const others = Object.entries(input).filter(([name]) => !edits.fields.includes(name))
  return (
    <>
      {others.length > 0 && <Fields of={Object.fromEntries(others)} {...parts} />}
      <Edits {...{ input, edits, tool }} {...parts} />
    </>
  )
}

/** Number of fields shown at first, and added by each click. */
const step = 50

/** Shows fields, one per line. Strings are shown unquoted, commands as code, and other values as trees; all as text if it is to be exact. */
const Fields = ({ of, ...parts }: { readonly of: Fieldset } & BlockParts) => {
  const names = useMemo(() => Object.keys(of), [of])
  const [most, setMost] = useState(step)
  if (names.length === 0) return <p class="nothing">no input</p>
  return (
    <>
      <dl class="fields">
        {names.slice(0, most).map((name) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>
              <Field name={name} value={of[name]} {...parts} />
            </dd>
          </div>
        ))}
      </dl>
      {names.length > most && (
        <More onClick={() => setMost(most + step)}>
          {number(Math.min(step, names.length - most))} more of {count(names.length, 'field')}
        </More>
      )}
    </>
  )
}

const commands = new Set(['command', 'cmd', 'script'])

const Field = ({
  name,
  value,
  ...parts
}: { readonly name: string; readonly value: unknown } & BlockParts) => {
  const { length, whole, text: form, isOpen } = parts
  const isTree = form !== 'exact' && typeof value === 'object' && value !== null
  const text = useMemo(() => (isTree ? '' : textOf(value)), [value, isTree])
  const isCut =
    mayBeCut(value, parts) || (whole !== undefined && typeof value === 'object' && text.length >= leastCut)
  if (isTree && whole === undefined) return <JsonTree value={value} />
  if (
    form !== 'exact' &&
    !isCut &&
    commands.has(name) &&
    typeof value === 'string' &&
    text.trim() !== '' &&
    text.length < leastCut
  )
    return <Code text={text} language="bash" />
  return (
    <Text
      {...{ text: isTree ? textOf(value) : text, isOpen }}
      as={form === 'exact' ? 'exact' : 'data'}
      {...(isCut && {
        length: Math.max(length ?? 0, text.length + 1),
        read: whole?.at(['input', name]),
      })}
    />
  )
}

/** Maximum length of all texts of an edit that is loaded and compared, in characters. */
const mostCompared = 2_000_000

interface EditsProps extends BlockParts {
  readonly input: Fieldset
  readonly edits: InputEdits
  readonly tool: string
}

/** Shows edits as diffs. A clipped text is compared up to its end, and whole when it is opened. */
const Edits = ({ input, edits, tool, ...parts }: EditsProps) => {
  const { whole, length, isOpen } = parts
  const [isAsked, setAsked] = useState(isOpen === true)
  const [loaded, setLoaded] = useState<InputEdits>()
  const [problem, setProblem] = useState<string>()
  const isCut = !loaded && textsOf(edits).some((text) => mayBeCut(text, parts))
  useEffect(() => setAsked(isOpen === true), [isOpen])
  useEffect(() => {
    if (!isAsked || !isCut || !whole) return
    setProblem(undefined)
    whole.all().then(
      (block) => setLoaded(editsIn(block['input'] as Fieldset, tool)),
      (error: unknown) => setProblem(problemOf(error).detail),
    )
  }, [isAsked, isCut])
  const shown = loaded ?? edits
  const lines = useMemo(() => linesOf(shown, isCut), [shown, isCut])
  if (lines === undefined)
    return <Fields of={Object.fromEntries(edits.fields.map((name) => [name, input[name]]))} {...parts} />
  return (
    <>
      {lines.map((each, index) => (
        <Changes key={index} lines={each} />
      ))}
      {isCut && (
        <More onClick={() => setAsked(true)}>
          {isAsked && problem === undefined ? 'loading …' : `open all ${size(length ?? 0)}`}
        </More>
      )}
      {problem !== undefined && <p role="alert">{problem}</p>}
    </>
  )
}

const textsOf = ({ edits, patch }: InputEdits): readonly string[] => [
  ...edits.flatMap(({ before, after }) => [before, after]),
  ...(patch === undefined ? [] : [patch]),
]

/** Returns the lines of each edit; undefined if there is too much to compare. A last line that was clipped is left out. */
const linesOf = (of: InputEdits, isCut: boolean): readonly (readonly EditLine[])[] | undefined => {
  if (textsOf(of).reduce((sum, text) => sum + text.length, 0) > mostCompared) return undefined
  const whole = (text: string): string =>
    isCut && text.length >= leastCut ? text.slice(0, text.lastIndexOf('\n') + 1) || text : text
  if (of.patch !== undefined) return [patchLines(whole(of.patch))]
  return of.edits.map(({ before, after }: FileEdit) =>
    editLines({ before: whole(before), after: whole(after) }),
  )
}
