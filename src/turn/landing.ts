import * as E from 'fp-ts/lib/Either.js'
import type { NewMessage } from '../commands/command.ts'
import { recordableMessage, restFor, resultMessage } from '../context/policy/result-limit.ts'
import type { Conversation } from '../conversation/conversation.ts'
import type { ConversationEvent } from '../events/events.ts'
import type { Written } from '../history/encode.ts'
import { configurationOf, type Effective } from '../projections/effective.ts'
import { type Held, saidLast } from './held.ts'
import { eventsAfter, type LiveHistory } from './live.ts'
import { idsOf, type OpenCall, openCalls } from './open-calls.ts'
import type { Settled } from './options.ts'
import { toolNames } from './tool-own-blocks.ts'
import type { runTools } from './tools.ts'
import type { Result } from './turned.ts'

/** Where what a turn has to record goes, whatever has happened since the history was read. */
export interface Landing {
  /**
   * Records messages right behind `now`, before what is held back; where that is not the end any more, on a branch of their own if that
   * was asked for.
   */
  readonly land: (now: Effective, messages: readonly NewMessage[], held?: Held) => Result<Written>
  /** What the user has said last, since a position. */
  readonly saidSince: (now: Effective, position: number) => Result<Held | undefined>
  /** Puts what the user has said behind these messages, and behind what else has happened since. */
  readonly moveBack: (held: Held, after: number, ...messages: readonly NewMessage[]) => Result<Written>
  /** Runs the tools of open calls, and records their results. */
  readonly answer: (now: Effective, open: readonly OpenCall[], run: typeof runTools) => Result<Written>
}

/** How often results are recorded anew because something has happened meanwhile. */
const maxStale = 10

export const landing = (chat: Conversation, history: LiveHistory, options: Settled): Landing => {
  const { keepLate, signal } = options

  const land: Landing['land'] = async (now, messages, held) => {
    const written = await (held
      ? moveBack(held, now.at, ...messages)
      : chat.append(messages, { after: now.at, tolerate: 'markers' })())
    if (E.isRight(written) || written.left._tag !== 'StaleContext' || !keepLate) return written
    const kept = await chat.append(messages, { branchAt: (held?.before ?? now).at })()
    return E.isLeft(kept) ? kept : written
  }

  const saidSince: Landing['saidSince'] = async (now, position) =>
    E.map((since: readonly ConversationEvent[]) => saidLast(now, since, position))(
      await eventsAfter(chat, position),
    )

  const moveBack: Landing['moveBack'] = ({ before, said, again }, after, ...messages) =>
    chat.append([...messages, ...said], { rewindTo: before.at, again, after })()

  const answer: Landing['answer'] = async (now, open, run) => {
    const { maxResult, toolTimeout: timeout } = options
    const content = await run(
      open.map(({ call }) => call),
      options.run,
      { signal, timeout, maxResult, named: toolNames(configurationOf(now).tools) },
    )
    const whole = resultMessage(content, { bytes: maxResult, rest: restFor(options.run) })
    let results = whole
    let before = now
    for (let stale = 0; ; stale++) {
      const written = await chat.append(results, { after: before.at, tolerate: 'markers' })()
      if (E.isLeft(written) && written.left._tag === 'EventTooLarge' && results === whole) {
        results = recordableMessage(content, maxResult)
        continue
      }
      if (E.isRight(written) || written.left._tag !== 'StaleContext' || stale > maxStale) return written
      const later = await history()
      if (E.isLeft(later)) return later
      // A configuration changes nothing for the calls.
      if (idsOf(openCalls(later.right)) === idsOf(open)) {
        before = later.right
        continue
      }
      const held = await saidSince(later.right, before.at)
      if (E.isLeft(held)) return held
      if (!held.right || idsOf(openCalls(held.right.before)) !== idsOf(open)) return land(before, [results])
      // What was said while the tools ran comes behind their results: before them, the model would be told that there are none.
      const inserted = await moveBack(held.right, later.right.at, results)
      if (E.isRight(inserted) || inserted.left._tag !== 'StaleContext') return inserted
    }
  }

  return { land, saidSince, moveBack, answer }
}
