import { type Paths, type PathRange, within } from '../path.ts'
import type { OutlineResponse } from '../../source/answers.ts'
import type { Ink } from './colours.ts'
import { base, type Context, layout, type Picture } from './picture.ts'
import { widest } from './scale.ts'

const inks: Readonly<Record<string, Ink>> = {
  u: 'user',
  r: 'result',
  a: 'assistant',
  c: 'call',
  C: 'condensed',
  T: 'truncated',
  W: 'rewound',
  R: 'restored',
}
/** Returns the colour for the letter of an event kind. */
export const inkOf = (letter: string | undefined): Ink => inks[letter ?? ''] ?? 'ink-3'
const isLow = (letter: string | undefined): boolean => ['K', 'E', '-'].includes(letter ?? '')
/** Heights of the bars of messages, in CSS pixels, so that kinds differ without colour. */
const heights: Readonly<Record<string, number>> = { u: 24, a: 20, c: 15, r: 10, s: 12 }
/** Reports whether a bar is short under forced colours, where another kind has its colour. */
const isShort = (letter: string | undefined): boolean => ['T', 'W', 'R'].includes(letter ?? '')

/**
 * Returns the last position before the next rewind after `at`. Past events are drawn the same way from every position between `at` and
 * the returned position.
 */
export const throughFrom = ({ rewinds, to }: OutlineResponse, at: number): number => {
  const next = rewinds.find(({ position }) => position > at)
  return next ? Math.min(to, next.position - 1) : to
}

/** Draws the bars of past events as seen from a position. Bars of events that are not on the path hang below the baseline. */
export const drawPast = (context: Context, picture: Picture, at: number): void => {
  const { outline, paths, colours } = picture
  const shown = shownIn(picture, at)
  const isOn = onPath(paths, at, shown)
  for (let position = shown.from; position <= shown.to; position++) {
    const letter = outline.kinds[position - outline.from] ?? ''
    const isBelow = !isOn(position)
    const isLeft = isBelow && letter !== 'W'
    context.globalAlpha = colours.isForced ? 1 : isLeft ? 0.75 : 1
    context.fillStyle = isLeft ? colours.abandoned : colours[inkOf(letter)]
    drawBar(context, picture, position, isBelow)
  }
  context.globalAlpha = 1
}

/** Draws the bars of future events, which look the same from every earlier position. */
export const drawFuture = (context: Context, picture: Picture): void => {
  const shown = shownIn(picture, Infinity)
  context.fillStyle = picture.colours.future
  for (let position = shown.from; position <= shown.to; position++) drawBar(context, picture, position, false)
}

const shownIn = ({ outline, scale }: Picture, through: number): PathRange => ({
  from: Math.max(scale.first, outline.from),
  to: Math.min(scale.last, outline.to, through),
})

/** Returns a predicate that is true for positions on the path. It must be called with ascending positions. */
const onPath = (paths: Paths, at: number, shown: PathRange): ((position: number) => boolean) => {
  const stretches = within(paths.stretches(at), [shown])
  let index = 0
  return (position) => {
    while ((stretches[index]?.to ?? Infinity) < position) index++
    return (stretches[index]?.from ?? Infinity) <= position
  }
}

const drawBar = (
  context: Context,
  { outline, scale, colours }: Picture,
  position: number,
  isBelow: boolean,
): void => {
  const letter = outline.kinds[position - outline.from]
  const space = scale.step > 4 ? 1 : scale.step > 2.2 ? 0.5 : 0
  const wide = Math.min(widest, Math.max(1, scale.step - space))
  const tall = colours.isForced && isShort(letter) ? layout.bars / 2 : layout.bars
  const full = heights[letter ?? ''] ?? (isLow(letter) ? 6 : tall)
  const height = isBelow ? Math.round(full * 0.5) : full
  const top = isBelow ? base + 3 : base - height
  context.fillRect(scale.x(position) + (scale.step - space - wide) / 2, top, wide, height)
}
