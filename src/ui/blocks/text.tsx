import { useEffect, useState } from 'preact/hooks'
import { openSheet, Sheet } from '../sheet.tsx'
import { problemOf } from '../source/source.ts'
import { size } from '../words.ts'
import { blank, chunks, clamped, exact } from './exact.ts'

/** Text as it is, with invisible characters named. */
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

interface TextProps {
  /** What there is of it. */
  readonly text: string
  /** How long it is in whole, in characters; more than `text` has if the server has cut it. */
  readonly length?: number | undefined
  /** Gives the whole of a text that the server has cut. */
  readonly load?: (() => Promise<string>) | undefined
  readonly as?: 'exact' | 'rendered'
  /** Whether it is open from the beginning. */
  readonly isOpen?: boolean | undefined
}

/** A text, cut at 700 characters with its size; it opens in place, in pieces that are laid out when they come into sight. */
export const Text = ({ text, length = text.length, load, as = 'exact', isOpen = false }: TextProps) => {
  const [open, setOpen] = useState(isOpen)
  const [whole, setWhole] = useState<string>()
  const [problem, setProblem] = useState<string>()
  const isCut = load !== undefined && length > text.length
  const all = whole ?? text
  useEffect(() => setOpen(isOpen), [isOpen])
  useEffect(() => {
    if (!open || !isCut || whole !== undefined) return
    load?.().then(setWhole, (error: unknown) => setProblem(problemOf(error).detail))
  }, [open, isCut])

  const nothing = length === 0 || !isCut ? blank(text) : undefined
  if (nothing !== undefined) return <p class="nothing">{nothing}</p>
  const beginning = isCut ? (clamped(text) ?? text) : clamped(text)
  if (beginning === undefined || (open && (!isCut || whole !== undefined)))
    return (
      <>
        <Shown text={all} as={as} />
        {beginning !== undefined && <More onClick={() => setOpen(false)}>close · {size(all.length)}</More>}
      </>
    )
  return (
    <>
      <Shown text={beginning} as="exact" isCut />
      <More onClick={() => setOpen(true)}>
        {open && problem === undefined ? 'loading …' : `open all ${size(length)}`}
      </More>
      {problem !== undefined && <p role="alert">{problem}</p>}
    </>
  )
}

const More = ({
  onClick,
  children,
}: {
  readonly onClick: () => void
  readonly children: preact.ComponentChildren
}) => (
  <button
    type="button"
    class="more"
    onClick={(event) => {
      event.stopPropagation()
      onClick()
    }}
  >
    {children}
  </button>
)

interface ShownProps {
  readonly text: string
  readonly as: 'exact' | 'rendered'
  readonly isCut?: boolean
}
const Shown = ({ text, as, isCut = false }: ShownProps) => {
  if (as === 'rendered') return <Markdown text={text} />
  const pieces = chunks(text)
  return (
    <div class={isCut ? 'exact cut' : 'exact'} dir="auto">
      {pieces.length === 1 ? (
        <Exact text={text} />
      ) : (
        pieces.map((piece, index) => (
          <div key={index} class="chunk">
            <Exact text={piece} />
          </div>
        ))
      )}
    </div>
  )
}

type Render = (text: string) => string
let render: Render | undefined

const Markdown = ({ text }: { readonly text: string }) => {
  const [html, setHtml] = useState<string | undefined>(() => render?.(text))
  useEffect(() => {
    let isGone = false
    const make = async (): Promise<void> => {
      render ??= (await import('./markdown.ts')).rendered
      if (!isGone) setHtml(render(text))
    }
    void make()
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
/** The button of a mouse that opens a link in a new tab. */
const middle = 1

/** A link in what somebody wrote is followed only after its whole address has been seen. */
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
