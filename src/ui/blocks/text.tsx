import { useEffect, useRef, useState } from 'preact/hooks'
import { problemOf } from '../source/source.ts'
import { size } from '../words.ts'
import { blank, clamped } from './exact.ts'
import { type Lot, piecesOf, type ReadOn } from './lot.ts'
import { More, Opened } from './opened.tsx'
import { Shown } from './shown.tsx'

interface TextProps {
  /** What there is of it. */
  readonly text: string
  /** How long it is in whole, in characters; more than `text` has if the server has cut it. */
  readonly length?: number | undefined
  /** Begins to read a text that the server has cut. */
  readonly read?: (() => ReadOn) | undefined
  readonly as?: 'exact' | 'rendered'
  /** Whether it is open from the beginning. */
  readonly isOpen?: boolean | undefined
}

/** A text, cut at 700 characters with its size; it opens in place, in pieces that are laid out when they come into sight. Of a very long one a piece is read at a time. */
export const Text = ({ text, length = text.length, read, as = 'exact', isOpen = false }: TextProps) => {
  const [open, setOpen] = useState(isOpen)
  const isCut = read !== undefined && length > text.length
  const { lot, problem, more } = useLot(text, isCut ? read : undefined, open)
  useEffect(() => setOpen(isOpen), [isOpen])

  const nothing = length === 0 || !isCut ? blank(text) : undefined
  if (nothing !== undefined) return <p class="nothing">{nothing}</p>
  const beginning = isCut ? (clamped(text) ?? text) : clamped(text)
  if (beginning === undefined) return <Shown text={text} as={as} />
  if (open && lot)
    return <Opened {...{ lot, as, problem, more }} length={length} close={() => setOpen(false)} />
  return (
    <>
      <Shown text={beginning} as="exact" isCut />
      <More onClick={open ? more : () => setOpen(true)}>
        {open && problem === undefined ? 'loading …' : `open all ${size(length)}`}
      </More>
      {problem !== undefined && <p role="alert">{problem}</p>}
    </>
  )
}

/** What has been read of a text that is open, and reads on. @param read undefined: all of it is there */
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
