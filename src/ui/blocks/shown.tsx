import { useEffect, useRef, useState } from 'preact/hooks'
import { withPart } from '../part.tsx'
import { openSheet, Sheet } from '../sheet.tsx'
import { chunks, exact } from './exact.ts'
import type { MatchRange } from './find-matches.ts'

/** Shows a text unchanged, except that invisible characters are replaced by their names. */
export const Exact = ({ text }: { readonly text: string }) => (
  <>
    {exact(text).map((piece, index) =>
      typeof piece === 'string' ? (
        piece
      ) : (
        <span key={index} class="invisible" title={`an invisible character: ${piece.name}`}>
          {piece.name}
        </span>
      ),
    )}
  </>
)

interface ShownProps {
  readonly text: string
  readonly as: 'exact' | 'rendered'
  readonly isCut?: boolean
  /** Range of the text that is highlighted and scrolled into view. */
  readonly mark?: MatchRange | undefined
}
/**
 * Shows a text as Markdown or unchanged. An unchanged text is split into pieces, which the browser lays out only when they become
 * visible.
 */
export const Shown = ({ text, as, isCut = false, mark }: ShownProps) => {
  const drawn = useRef<readonly Drawn[]>([])
  if (as === 'rendered') return <Markdown text={text} />
  drawn.current = drawnOf(text, mark, drawn.current)
  return (
    <div class={isCut ? 'exact cut' : 'exact'} dir="auto">
      {drawn.current.length === 1 && !mark ? <Exact text={text} /> : drawn.current.map(({ shown }) => shown)}
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
        {isMarked ? (
          <Marked text={piece} from={mark.from - start} to={mark.to - start} />
        ) : (
          <Exact text={piece} />
        )}
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
      <Exact text={text.slice(0, from)} />
      <mark ref={node}>
        <Exact text={text.slice(from, to)} />
      </mark>
      <Exact text={text.slice(to)} />
    </>
  )
}

type Render = (text: string) => string
let render: Render | undefined

const Markdown = ({ text }: { readonly text: string }) => {
  const [html, setHtml] = useState<string | undefined>(() => render?.(text))
  useEffect(() => {
    let isGone = false
    withPart(import('./markdown.ts'), ({ renderMarkdown }) => {
      render = renderMarkdown
      if (!isGone) setHtml(renderMarkdown(text))
    })
    return () => {
      isGone = true
    }
  }, [text])
  if (html === undefined) return <Shown text={text} as="exact" />
  return (
    <div
      class="markdown"
      dir="auto"
      onClick={askFirst}
      onAuxClick={(event) => event.button === middle && askFirst(event)}
      dangerouslySetInnerHTML={{ __html: html }}
    />
  )
}
/** Mouse button that opens a link in a new tab. */
const middle = 1

/** Shows the full address of a link in a message and asks for confirmation before following the link. */
const askFirst = (event: MouseEvent): void => {
  const link = event.target instanceof Element ? event.target.closest('a') : undefined
  const href = link?.getAttribute('href')
  if (href === null || href === undefined) return
  event.preventDefault()
  openSheet(
    <Sheet
      title="Leave this page?"
      actions={
        <a class="button" href={href} target="_blank" rel="noopener noreferrer nofollow">
          Open in a new tab
        </a>
      }
    >
      <p class="exact">
        <Exact text={href} />
      </p>
    </Sheet>,
  )
}
