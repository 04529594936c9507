import { useEffect, useState } from 'preact/hooks'

/** Names of the theme colours that canvases use. */
const names = [
  'ink',
  'ink-2',
  'ink-3',
  'paper',
  'line',
  'line-2',
  'future',
  'user',
  'assistant',
  'call',
  'result',
  'abandoned',
  'condensed',
  'truncated',
  'rewound',
  'restored',
  'error',
  'approval',
] as const
export type Ink = (typeof names)[number]
export interface Colours extends Readonly<Record<Ink, string>> {
  /** True if the system forces its few colours on the page. Bars then differ in height, too. */
  readonly isForced: boolean
}

const forced = '(forced-colors: active)'

/** Reads the computed theme colours, because the value of a custom property may be an expression, which a canvas cannot use. */
const read = (): Colours => {
  const probe = document.createElement('i')
  probe.hidden = true
  // The theme then names system colours, which differ; otherwise the system would force the text colour on them all.
  probe.style.forcedColorAdjust = 'none'
  document.body.append(probe)
  const entries = names.map((name) => {
    probe.style.color = `var(--${name})`
    return [name, getComputedStyle(probe).color] as const
  })
  probe.remove()
  const { matches: isForced } = matchMedia(forced)
  return { ...(Object.fromEntries(entries) as Record<Ink, string>), isForced }
}

export const useColours = (): Colours => {
  const [colours, setColours] = useState(read)
  useEffect(() => {
    const again = (): void => setColours(read())
    const queries = ['(prefers-color-scheme: dark)', forced].map((query) => matchMedia(query))
    for (const query of queries) query.addEventListener('change', again)
    addEventListener('themechange', again)
    return () => {
      for (const query of queries) query.removeEventListener('change', again)
      removeEventListener('themechange', again)
    }
  }, [])
  return colours
}
