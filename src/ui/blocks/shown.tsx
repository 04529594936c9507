import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { withPart } from '../part.tsx'
import { openSheet, Sheet } from '../sheet.tsx'
import { chunks } from './exact.ts'
import type { MatchRange } from './find-matches.ts'

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

type Render = (text: string) => ComponentChildren
let render: Render | undefined

const Markdown = ({ text }: { readonly text: string }) => {
  const [shown, setShown] = useState(() => render?.(text))
  useEffect(() => {
    let isGone = false
    withPart(import('./markdown.ts'), ({ renderMarkdown }) => {
      render = renderMarkdown
      if (!isGone) setShown(renderMarkdown(text))
    })
    return () => {
      isGone = true
    }
  }, [text])
  if (shown === undefined) return <Shown text={text} as="exact" />
  return (
    <div
      class="markdown"
      dir="auto"
      onClick={askFirst}
      onAuxClick={(event) => event.button === middle && askFirst(event)}
    >
      {shown}
    </div>
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
      <p class="exact">{href}</p>
    </Sheet>,
  )
}
