import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { withPart } from '../part.tsx'

interface CodeProps {
  readonly text: string
  /** Name of the language, or ending of the file's name; undefined if unknown. */
  readonly language?: string | undefined
}

/** Maximum length of code that is highlighted, in characters. */
const most = 20_000
/** Length of the pieces that are highlighted at once, in characters: so much takes less than a frame. */
const atOnce = 1_500

/** Shows code, highlighted if its language is known and it is not long. The highlighter is loaded on first use. */
export const Code = ({ text, language = '' }: CodeProps) => {
  const isLit = language !== '' && text.length <= most
  const [shown, setShown] = useState<ComponentChildren>()
  useEffect(() => {
    setShown(undefined)
    if (!isLit) return undefined
    let isGone = false
    withPart(import('./highlight.ts'), ({ highlight }) => {
      const done: ComponentChildren[] = []
      const pieces = piecesOf(text)
      const next = (): void => {
        const piece = pieces[done.length]
        if (isGone) return
        if (piece === undefined) return setShown(done)
        done.push(highlight(piece, language))
        setTimeout(next)
      }
      next()
    })
    return () => {
      isGone = true
    }
  }, [text, language])
  return (
    <pre class="code" tabIndex={-1}>
      <code>{shown ?? text}</code>
    </pre>
  )
}

/** Splits code at blank lines, or at other lines if it has none. */
const piecesOf = (text: string): readonly string[] => {
  const pieces: string[] = []
  for (let from = 0; from < text.length;) {
    const part = text.slice(from, from + atOnce)
    const isLast = from + part.length === text.length
    const line = ['\n\n', '\n'].map((end) => part.lastIndexOf(end) + 1).find((end) => end > 0)
    const length = isLast || line === undefined ? part.length : line
    pieces.push(part.slice(0, length))
    from += length
  }
  return pieces
}
