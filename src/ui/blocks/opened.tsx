import { useEffect, useMemo, useState } from 'preact/hooks'
import { number, size } from '../words.ts'
import { mostFound, type MatchRange, placesOf } from './find-matches.ts'
import type { Lot } from './lot.ts'
import { More } from './more.tsx'
import { Shown, type TextForm } from './shown.tsx'

interface OpenedProps {
  readonly lot: Lot
  /** Length of the whole text, in characters. */
  readonly length: number
  readonly as: TextForm
  readonly problem: string | undefined
  readonly more: () => void
  readonly close: () => void
}

/** Shows the part of an expanded text that has been read, with a search field and a button to read more. */
export const Opened = ({ lot: { text, isWhole }, length, as, problem, more, close }: OpenedProps) => {
  const [mark, setMark] = useState<MatchRange>()
  const readOf = `the first ${size(text.length)} of ${size(Math.max(length, text.length))}`
  return (
    <>
      {text.length > findable && (
        <Finding text={text} in={isWhole ? '' : ` in ${readOf}`} show={setMark}>
          <More onClick={close}>close</More>
        </Finding>
      )}
      <Shown text={text} as={isWhole ? as : 'exact'} mark={mark} />
      {!isWhole && (
        <p class="rest">
          <More onClick={more}>more</More> <span class="faint">{readOf} shown</span>
        </p>
      )}
      {problem !== undefined && <p role="alert">{problem}</p>}
      <More onClick={close}>close · {size(text.length)}</More>
    </>
  )
}

/** Length in characters above which an expanded text gets a search field, because it does not fit on a screen. */
const findable = 20_000

interface FindingProps {
  readonly text: string
  /** Description of the part that is searched; empty if the whole text is searched. */
  readonly in: string
  readonly show: (place: MatchRange | undefined) => void
  readonly children: preact.ComponentChildren
}

const Finding = ({ text, in: part, show, children }: FindingProps) => {
  const [words, setWords] = useState('')
  const [index, setIndex] = useState(0)
  const places = useMemo(() => placesOf(text, words), [text, words])
  const nth = places.length === 0 ? 0 : ((index % places.length) + places.length) % places.length
  const place = places[nth]
  useEffect(() => show(place), [place?.from, place?.to])
  const told = places.length === mostFound ? `${number(mostFound)} or more` : number(places.length)
  return (
    <div class="finding" role="search" onClick={(event) => event.stopPropagation()}>
      <input
        type="search"
        aria-label="Find in this text"
        placeholder="find in this text"
        value={words}
        onInput={({ currentTarget: { value } }) => {
          setWords(value)
          setIndex(0)
        }}
        onKeyDown={(event) => {
          if (event.key === 'Enter') setIndex(index + (event.shiftKey ? -1 : 1))
        }}
      />
      <span class="faint figures" role="status">
        {words !== '' && `${places.length === 0 ? 'nothing found' : `${number(nth + 1)} of ${told}`}${part}`}
      </span>
      {children}
    </div>
  )
}
