import { closeSheet, Sheet } from '../sheet.tsx'
import { hrefs, type ConversationViewState } from '../url.ts'
import { brief, clock, count, number } from '../words.ts'
import type { OutlineResponse } from '../source/answers.ts'

interface MarksProps {
  readonly conversation: string
  readonly view: ConversationViewState
  readonly outline: OutlineResponse
}

/** Lists the markers, rewinds, restores and erasures that the ribbon draws, as lines of text. */
export const MarksSheet = ({ conversation, view, outline }: MarksProps) => {
  const marks = [
    ...outline.markers.map(({ position, kind, hidden, before, after }) => ({
      position,
      tone: kind,
      words: `${kind}: ${count(hidden, 'message')}, ${brief(before)} → ${brief(after)} tokens`,
    })),
    ...outline.rewinds.map(({ position, to }) => ({
      position,
      tone: 'rewound',
      words: `rewind, back to ${to < 0 ? 'the start' : number(to)}`,
    })),
    ...outline.restores.map(({ position, marker }) => ({
      position,
      tone: 'restored',
      words: `restore of what ${number(marker)} hid`,
    })),
    ...Array.from(outline.kinds).flatMap((letter, index) =>
      letter === 'E' ? [{ position: outline.from + index, tone: 'erased', words: 'erasure' }] : [],
    ),
  ].toSorted((one, other) => one.position - other.position)
  const isPart = outline.from > 0 || outline.to < outline.last
  return (
    <Sheet title="Markers and rewinds">
      {isPart && (
        <p class="faint">
          Of positions {number(outline.from)} to {number(outline.to)}; <kbd>]</kbd> and <kbd>[</kbd> lead
          further.
        </p>
      )}
      {marks.length === 0 && <p class="faint">There are none.</p>}
      <ul class="marks">
        {marks.map(({ position, tone, words }) => (
          <li key={position} class={`tone-${tone}`}>
            <a
              href={hrefs.conversation(conversation, { ...view, at: position, sel: undefined })}
              onClick={closeSheet}
            >
              <bdi class="figures">{number(position)}</bdi>
            </a>
            <span>{words}</span>
            <time class="faint figures">{clock(outline.times[position - outline.from] ?? 0)}</time>
          </li>
        ))}
      </ul>
    </Sheet>
  )
}
