import { useEffect, useState } from 'preact/hooks'

let say: ((text: string) => void) | undefined
/**
 * Announces a sentence to screen readers and shows it briefly. Announces at most one sentence every two seconds; if several are
 * waiting, only the latest is announced.
 */
export const announce = (text: string): void => say?.(text)

const least = 2_000

export const Announcer = () => {
  const [text, setText] = useState('')
  useEffect(() => {
    let last = -Infinity
    let timer: ReturnType<typeof setTimeout> | undefined
    let gone: ReturnType<typeof setTimeout> | undefined
    say = (next) => {
      clearTimeout(timer)
      clearTimeout(gone)
      const tell = (): void => {
        last = performance.now()
        setText(next)
        gone = setTimeout(() => setText(''), 2 * least)
      }
      timer = setTimeout(tell, Math.max(0, last + least - performance.now()))
    }
    return () => {
      say = undefined
      clearTimeout(timer)
      clearTimeout(gone)
    }
  }, [])
  return (
    <div class="announcer" role="status" aria-live="polite">
      {text}
    </div>
  )
}
