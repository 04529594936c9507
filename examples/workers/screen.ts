import pc from 'picocolors'
import { paintLine } from '../../src/cli/text.ts'
import type { Screen as Stream } from '../../src/cli/output.ts'
import { frameOf, type News, recentRate, type Scene, stepsIn } from './scene.ts'

/** Where the demo is shown: a frame that is drawn in place on a terminal, else a line for what happens and one every two seconds. */
export interface Screen {
  readonly draw: (scene: Scene) => void
  readonly tell: (news: News, began: number) => void
}

export const screenOn = (stream: Stream): Screen => (stream.isTTY ? terminal(stream) : lines(stream))

const hideCursor = '\u001b[?25l'
const showCursor = '\u001b[?25h'

const terminal = (stream: Stream): Screen => {
  const colors = pc.createColors(pc.isColorSupported)
  let drawn = 0
  process.on('exit', () => drawn > 0 && stream.write(showCursor))
  return {
    draw: (scene) => {
      const frame = frameOf(scene).slice(0, (stream.rows ?? 24) - 1)
      const text = frame.map((parts) => `${paintLine(parts, (stream.columns ?? 80) - 1, colors)}\u001b[K\n`)
      stream.write(`${drawn > 0 ? `\u001b[${drawn}A` : hideCursor}${text.join('')}\u001b[J`)
      drawn = frame.length
    },
    tell: () => {},
  }
}

const every = 2_000

const lines = (stream: Stream): Screen => {
  let next = every
  const at = (ms: number): string => `${(ms / 1_000).toFixed(1).padStart(6)} s  `
  return {
    draw: ({ roster, rates, deeds, began, now }) => {
      if (now - began < next) return
      next += every
      const { open, age, claimed } = stepsIn(roster)
      const rate = recentRate(rates).toFixed(1)
      stream.write(
        `${at(now - began)}${rate} answers a second; ${open} open${age}, ${claimed} claimed; ${deeds.asked} asked\n`,
      )
    },
    tell: ({ at: when, text }, began) => void stream.write(`${at(when - began)}${text}\n`),
  }
}
