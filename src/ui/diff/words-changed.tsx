import { useEffect, useState } from 'preact/hooks'
import { withPart } from '../part.tsx'
import type { DiffPiece } from './words.ts'

interface WordsChangedProps {
  readonly before: string
  readonly after: string
}

/** Shows a changed text, with deleted words struck out and inserted words underlined. */
export const WordsChanged = ({ before, after }: WordsChangedProps) => {
  const [pieces, setPieces] = useState<readonly DiffPiece[]>()
  useEffect(() => {
    let isGone = false
    withPart(import('./words.ts'), ({ wordsChanged }) => {
      if (!isGone) setPieces(wordsChanged(before, after))
    })
    return () => {
      isGone = true
    }
  }, [before, after])
  const shown: readonly DiffPiece[] = pieces ?? [
    { kind: 'left', text: before },
    { kind: 'came', text: after },
  ]
  return (
    <div class="exact words" dir="auto">
      {shown.map(({ kind, text }, index) => {
        if (kind === 'same') return text
        return kind === 'left' ? <del key={index}>{text}</del> : <ins key={index}>{text}</ins>
      })}
    </div>
  )
}
