import { useMemo } from 'preact/hooks'
import { brief, clock, kindOf, kinds, number } from '../../words.ts'
import type { OutlineResponse } from '../../source/answers.ts'
import { curveMost } from './curve.ts'
import type { Picture } from './picture.ts'

interface LegendProps extends Pick<Picture, 'outline' | 'scale' | 'limit'> {
  /** Position under the mouse pointer; undefined if the pointer is elsewhere. */
  readonly pointed: number | undefined
  /** Description of the part of the overview under the mouse pointer, if any. */
  readonly part: string | undefined
}

/** Shows the meaning of the colours, and describes the event under the mouse pointer. */
export const Legend = ({ outline, scale, limit, pointed, part }: LegendProps) => {
  const most = useMemo(() => curveMost({ outline, scale, limit }), [outline, scale, limit])
  return (
    <div class="legend">
      <Colours outline={outline} />
      <span class="figures pointed">
        {part ??
          (pointed === undefined
            ? `tokens in context, up to ${brief(most)}`
            : pointedWords(outline, pointed))}
      </span>
    </div>
  )
}

const Colours = ({ outline }: { readonly outline: OutlineResponse }) =>
  useMemo(
    () => (
      <ul aria-label="Colours">
        {order
          .filter((letter) => outline.kinds.includes(letter))
          .map((letter) => (
            <li key={letter} class={`tone-${tones[letter]}`}>
              {kinds[letter]} <span class="figures">{number(outline.kinds.split(letter).length - 1)}</span>
            </li>
          ))}
        {outline.failed.length > 0 && (
          <li class="tone-error">
            failed <span class="figures">{number(outline.failed.length)}</span>
          </li>
        )}
        {outline.retries.length > 0 && (
          <li class="tone-call ring">
            retry <span class="figures">{number(outline.retries.length)}</span>
          </li>
        )}
        {outline.rewinds.length > 0 && <li class="tone-abandoned">abandoned</li>}
      </ul>
    ),
    [outline],
  )

const pointedWords = (outline: OutlineResponse, position: number): string => {
  const index = position - outline.from
  const letter = outline.kinds[index]
  if (letter === undefined) return number(position)
  const time = outline.times[index]
  return [
    number(position),
    kindOf(letter),
    ...(outline.failed.includes(position) ? ['failed'] : []),
    ...(outline.retries.includes(position) ? ['retry'] : []),
    `about ${brief(outline.tokens[index] ?? 0)} tokens`,
    ...(time === undefined ? [] : [clock(time)]),
  ].join(' · ')
}

const order = ['u', 'a', 'c', 'r', 's', 'C', 'T', 'W', 'R'] as const
const tones = {
  u: 'user',
  a: 'assistant',
  c: 'call',
  r: 'result',
  s: 'system',
  C: 'condensed',
  T: 'truncated',
  W: 'rewound',
  R: 'restored',
} as const
