import { useEffect, useRef } from 'preact/hooks'
import { chunks } from './exact.ts'
import type { MatchRange } from './find-matches.ts'

interface UnchangedProps {
  readonly text: string
  readonly isCut?: boolean
  /** Range of the text that is highlighted and scrolled into view. */
  readonly mark?: MatchRange | undefined
}

/** Shows a text unchanged, in pieces, which the browser lays out only when they become visible. */
export const Unchanged = ({ text, isCut = false, mark }: UnchangedProps) => {
  const drawn = useRef<readonly Drawn[]>([])
  drawn.current = drawnOf(text, mark, drawn.current)
  return (
    <div class={isCut ? 'exact cut' : 'exact'} dir="auto">
      {drawn.current.length === 1 && !mark ? text : drawn.current.map(({ shown }) => shown)}
    </div>
  )
}

interface Drawn {
  readonly piece: string
  readonly isMarked: boolean
  readonly shown: preact.JSX.Element
}

/** Splits a text into pieces and renders them. Reuses unchanged pieces from `before`, because a text may have a thousand pieces. */
const drawnOf = (text: string, mark: MatchRange | undefined, before: readonly Drawn[]): readonly Drawn[] => {
  let from = 0
  return chunks(text).map((piece, index) => {
    const [start, was] = [from, before[index]]
    from += piece.length
    const isMarked = mark !== undefined && mark.from >= start && mark.from < from
    if (!isMarked && was && !was.isMarked && was.piece === piece) return was
    const shown = (
      <div key={index} class="chunk">
        {isMarked ? <Marked text={piece} from={mark.from - start} to={mark.to - start} /> : piece}
      </div>
    )
    return { piece, isMarked, shown }
  })
}

const Marked = ({ text, from, to }: MatchRange & { readonly text: string }) => {
  const node = useRef<HTMLElement>(null)
  useEffect(() => node.current?.scrollIntoView({ block: 'center' }), [from])
  return (
    <>
      {text.slice(0, from)}
      <mark ref={node}>{text.slice(from, to)}</mark>
      {text.slice(to)}
    </>
  )
}
