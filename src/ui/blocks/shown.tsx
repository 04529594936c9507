import { useEffect, useMemo, useState } from 'preact/hooks'
import { withPart } from '../part.tsx'
import { openSheet, Sheet } from '../sheet.tsx'
import { Changes } from './changes.tsx'
import { Code } from './code.tsx'
import { isPatch, patchLines } from './edits.ts'
import type { MatchRange } from './find-matches.ts'
import { JsonTree } from './json-tree.tsx'
import type { renderMarkdown } from './markdown.ts'
import { Unchanged } from './unchanged.tsx'
import { Wrapper } from './wrapper.tsx'
import { wrappedParts } from './wrappers.ts'

/** Forms of a text: unchanged; rendered as Markdown; or, if it is data of a tool, as a tree of JSON or a diff if it is one. */
export type TextForm = 'exact' | 'rendered' | 'data'

interface ShownProps {
  readonly text: string
  readonly as: TextForm
  readonly isCut?: boolean
  /** Range of the text that is highlighted and scrolled into view. */
  readonly mark?: MatchRange | undefined
}
/** Length of a text above which it is shown unchanged, in characters. */
export const mostRendered = 200_000

/** Shows a text in one of its forms. A text that is long, or in which a match is shown, is unchanged. */
export const Shown = ({ text, as, isCut = false, mark }: ShownProps) =>
  as === 'exact' || mark || text.length > mostRendered ? (
    <Unchanged {...{ text, isCut, mark }} />
  ) : (
    <>
      {wrappedParts(text, isCut).map((part, index, { length }) => {
        if (typeof part !== 'string') return <Wrapper key={index} part={part} />
        const Form = as === 'rendered' ? Markdown : Data
        return <Form key={index} text={part} isCut={isCut && index === length - 1} />
      })}
    </>
  )

interface PartProps {
  readonly text: string
  readonly isCut: boolean
}

/** Shows the data of a tool. */
const Data = ({ text, isCut }: PartProps) => {
  const value = useMemo(() => (isCut ? undefined : treeIn(text)), [text, isCut])
  const lines = useMemo(() => (isPatch(text) ? patchLines(text) : undefined), [text])
  if (value !== undefined) return <JsonTree value={value} />
  if (lines) return <Changes lines={isCut ? lines.slice(0, -1) : lines} />
  return <Unchanged text={text} isCut={isCut} />
}

/** Parses an object or a list that is a text on its own; undefined for any other text. */
const treeIn = (text: string): object | undefined => {
  if (!/^\s*[[{]/.test(text)) return undefined
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}

let render: typeof renderMarkdown | undefined

/** Loads the code that renders Markdown. */
export const loadMarkdown = async (): Promise<void> => {
  render ??= (await import('./markdown.ts')).renderMarkdown
}

/**
 * Resolves once the code that renders Markdown is loaded, so that what is rendered keeps its height and place. If it cannot be loaded,
 * resolves as well; it is loaded again when it is needed.
 */
export const waitForMarkdown = (): Promise<void> => loadMarkdown().catch(() => undefined)

/** Shows Markdown; until its code is loaded, as the text that it is. */
const Markdown = ({ text, isCut }: PartProps) => {
  const [isLoaded, setLoaded] = useState(render !== undefined)
  useEffect(() => {
    if (isLoaded) return undefined
    let isGone = false
    withPart(loadMarkdown(), () => {
      if (!isGone) setLoaded(true)
    })
    return () => {
      isGone = true
    }
  }, [])
  const shown = useMemo(() => render?.(text, isCut, Code), [text, isCut, isLoaded])
  if (shown === undefined) return <Unchanged text={text} isCut={isCut} />
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
