import { useEffect, useRef, useState } from 'preact/hooks'
import { problemOf } from '../source/source.ts'
import { size } from '../words.ts'
import { blank, clamp } from './exact.ts'
import { JsonTree } from './json-tree.tsx'
import { type Lot, piecesOf, type ReadOn } from './lot.ts'
import { More } from './more.tsx'
import { Opened } from './opened.tsx'
import type { Path } from './reader-at.ts'
import { Shown, type TextForm } from './shown.tsx'
import { type BlockParts, textOf } from './whole.ts'

interface TextProps {
  /** Text, or the beginning of a text that the server has clipped. */
  readonly text: string
  /** Full length of the text in characters, which exceeds the length of `text` if the server has clipped it. */
  readonly length?: number | undefined
  /** Returns a function that reads the full text from the server; needed if the text is clipped. */
  readonly read?: (() => ReadOn) | undefined
  readonly as?: TextForm
  readonly isOpen?: boolean | undefined
}

/**
 * Shows a text. A long text is collapsed to its first 700 characters and its full size, and expands in place. When expanded, a very
 * long text is read in pieces, which the browser lays out only when they become visible.
 */
export const Text = ({ text, length = text.length, read, as = 'exact', isOpen = false }: TextProps) => {
  const [open, setOpen] = useState(isOpen)
  const isCut = read !== undefined && length > text.length
  const { lot, problem, more } = useLot(text, isCut ? read : undefined, open)
  useEffect(() => setOpen(isOpen), [isOpen])

  const nothing = length === 0 || !isCut ? blank(text) : undefined
  if (nothing !== undefined) return <p class="nothing">{nothing}</p>
  const beginning = isCut ? (clamp(text) ?? text) : clamp(text)
  if (beginning === undefined) return <Shown text={text} as={as} />
  if (open && lot)
    return <Opened {...{ lot, as, problem, more }} length={length} close={() => setOpen(false)} />
  return (
    <>
      <Shown text={beginning} as={as} isCut />
      <More onClick={open ? more : () => setOpen(true)}>
        {open && problem === undefined ? 'loading …' : `open all ${size(length)}`}
      </More>
      {problem !== undefined && <p role="alert">{problem}</p>}
    </>
  )
}

interface PartProps extends BlockParts {
  /** Value of which the server has left out something; undefined if it has left out all of it. */
  readonly value: unknown
  /** Path of the value in its block. */
  readonly path: Path
}

/** Shows what there is of a value as a tree, or as text if it is to be exact, and reads all of it when expanded. */
export const Part = ({ value, path, whole, length = 0, text, isOpen = false }: PartProps) => {
  const [isText, setText] = useState(isOpen)
  useEffect(() => setText(isOpen), [isOpen])
  if (!isText && text !== 'exact' && typeof value === 'object' && value !== null)
    return (
      <>
        <JsonTree value={value} />
        <More onClick={() => setText(true)}>this is its beginning; open all {size(length)}</More>
      </>
    )
  const known = textOf(value)
  const beginning = clamp(known) ?? known
  return (
    <Text
      text={beginning}
      as={text === 'exact' ? 'exact' : 'data'}
      length={Math.max(length, beginning.length + 1)}
      read={whole?.at(path)}
      isOpen={isText}
    />
  )
}

/**
 * Returns the part of an expanded text that has been read, and a function that reads the next piece.
 *
 * @param read undefined if the text is complete
 */
const useLot = (text: string, read: (() => ReadOn) | undefined, isOpen: boolean) => {
  const [pieces, setPieces] = useState(1)
  const [got, setGot] = useState<Lot>()
  const [problem, setProblem] = useState<string>()
  const readOn = useRef<ReadOn>(undefined)
  const ask = (): void => {
    setProblem(undefined)
    readOn.current ??= read?.()
    readOn.current?.().then(setGot, (error: unknown) => setProblem(problemOf(error).detail))
  }
  const isAsked = isOpen && read !== undefined && got === undefined
  useEffect(() => {
    if (isAsked) ask()
  }, [isAsked])
  if (read) return { lot: got, problem, more: ask }
  return { lot: piecesOf(text, pieces), problem, more: () => setPieces(pieces + 1) }
}
