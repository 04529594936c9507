import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { withPart } from '../part.tsx'

interface CodeProps {
  readonly text: string
  /** Name of the language, or ending of the file's name; undefined if unknown. */
  readonly language?: string | undefined
}

/** Maximum length of code that is highlighted, in characters: so much takes less than a frame. */
const most = 10_000

type Highlight = (text: string, language: string) => ComponentChildren
let highlight: Highlight | undefined

/** Shows code, highlighted if its language is known and it is not long. The highlighter is loaded on first use. */
export const Code = ({ text, language = '' }: CodeProps) => {
  const isLit = language !== '' && text.length <= most
  const [shown, setShown] = useState(() => (isLit ? highlight?.(text, language) : undefined))
  useEffect(() => {
    if (!isLit) return setShown(undefined)
    let isGone = false
    withPart(import('./highlight.ts'), (loaded) => {
      highlight = loaded.highlight
      if (!isGone) setShown(loaded.highlight(text, language))
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
