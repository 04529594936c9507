import type { ComponentChildren } from 'preact'

// Signs for states and for changes of the context, drawn on 12 by 12 units. Each has a form of its own, so that none relies on colour.

const line = (d: string, width = 1.7): ComponentChildren => (
  <path
    d={d}
    fill="none"
    stroke="currentColor"
    stroke-width={width}
    stroke-linecap="round"
    stroke-linejoin="round"
  />
)

const drawings = {
  approval: (
    <path d="M6 .9L11.1 6 6 11.1.9 6z" class="approval-fill" stroke="currentColor" stroke-width="1.1" />
  ),
  working: (
    <>
      <circle cx="6" cy="6" r="4" fill="none" stroke="currentColor" stroke-width="1.5" opacity=".3" />
      {line('M6 2a4 4 0 0 1 4 4', 1.7)}
    </>
  ),
  error: line('M3 3l6 6M9 3l-6 6', 1.9),
  parked: line('M4.2 3v6M7.8 3v6'),
  idle: <circle cx="6" cy="6" r="4" fill="none" stroke="currentColor" stroke-width="1.5" />,
  condensed: <path d="M2 3h8L6 9.5z" fill="currentColor" />,
  truncated: line('M1 6h3M8 6h3M4.6 10.5l2.8-9'),
  rewound: line('M4.8 1.8L2 4.6l2.8 2.8M2.2 4.6h5a2.9 2.9 0 0 1 0 5.8H5.4', 1.6),
  restored: line('M2.8 8.8h6.4L6 3.4z', 1.6),
  fork: line('M3 1.5v9M3 6.2c0-2 6-.8 6-4.2', 1.4),
  subagent: line('M3 1.5v5.3h5.5M6.5 4.6l2.2 2.2-2.2 2.2', 1.4),
  search: line('M5 1.6a3.4 3.4 0 1 0 0 6.8a3.4 3.4 0 0 0 0-6.8M7.7 7.7L10.6 10.6', 1.4),
  pencil: line('M2 10l.5-2.2L8.3 2l1.7 1.7-5.8 5.8z', 1.2),
} as const

export type GlyphName = keyof typeof drawings

/** Shows a sign. It says nothing to screen readers: a word stands beside it. */
export const Glyph = ({ name, class: own = '' }: { readonly name: GlyphName; readonly class?: string }) => (
  <svg class={`glyph ${own}`} viewBox="0 0 12 12" width="12" height="12" aria-hidden="true">
    {drawings[name]}
  </svg>
)
