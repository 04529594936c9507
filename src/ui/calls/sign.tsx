import type { ComponentChildren } from 'preact'

// Signs in the table of calls, drawn on 12 by 12 units.

const drawings = {
  open: 'M3 4.7L6 7.7l3-3',
  closed: 'M4.6 3l3 3-3 3',
  check: 'M2.5 6.3l2.4 2.4L9.6 3.6',
  error: 'M3 3l6 6M9 3l-6 6',
  retry: 'M6 2.5a3.5 3.5 0 1 1 0 7a3.5 3.5 0 1 1 0-7z',
  subagent: 'M3 1.5v5.3h5.5M6.5 4.6l2.2 2.2-2.2 2.2',
  approval: 'M6 .9L11.1 6 6 11.1.9 6z',
  abandoned: 'M2.5 2.5h7v7h-7z',
  condensed: 'M2 3h8L6 9.5z',
} as const

interface SignProps {
  readonly name: keyof typeof drawings
  readonly tone?: string
  readonly title?: string | undefined
  readonly children?: ComponentChildren
}

/** Shows a sign and the words beside it. */
export const Sign = ({ name, tone, title, children }: SignProps) => (
  <span class={`sign sign-${name}${tone === undefined ? '' : ` tone-${tone}`}`} title={title}>
    <svg viewBox="0 0 12 12" width="12" height="12" aria-hidden="true">
      <path d={drawings[name]} />
    </svg>
    {children}
  </span>
)
