import { useEffect, useState } from 'preact/hooks'

/** Names of the theme colours that canvases use. */
const names = [
  'ink',
  'faint',
  'ground',
  'panel',
  'line',
  'strong-line',
  'user',
  'assistant',
  'call',
  'result',
  'abandoned',
  'condensed',
  'truncated',
  'rewind',
  'accent',
] as const
export type Colours = Readonly<Record<(typeof names)[number], string>>

/** Reads the computed theme colours, because the value of a custom property may be an expression, which a canvas cannot use. */
const read = (): Colours => {
  const probe = document.createElement('i')
  probe.hidden = true
  document.body.append(probe)
  const entries = names.map((name) => {
    probe.style.color = `var(--${name})`
    return [name, getComputedStyle(probe).color] as const
  })
  probe.remove()
  return Object.fromEntries(entries) as Colours
}

export const useColours = (): Colours => {
  const [colours, setColours] = useState(read)
  useEffect(() => {
    const again = (): void => setColours(read())
    const system = matchMedia('(prefers-color-scheme: dark)')
    system.addEventListener('change', again)
    addEventListener('themechange', again)
    return () => {
      system.removeEventListener('change', again)
      removeEventListener('themechange', again)
    }
  }, [])
  return colours
}
