import { join } from 'node:path'
import { openStore } from '../../src/index.ts'
import { messageAt } from '../messages.ts'
import { atLeast, atMost, duration, type PartResult } from '../report.ts'
import { alternate, type Contender, ratioOf, timed, timeOf } from '../rounds.ts'
import type { Setting } from '../setting.ts'

const conversations = 200
/** Of a round. */
const messages = 200

interface Followed extends Contender {
  /** The longest time that the process was busy with one thing, in milliseconds. */
  readonly longestBlock: () => number
  readonly close: () => Promise<void>
}

/** Durable appends to two hundred conversations in turn, while readers in the same process follow them. */
export const followers = async ({ folder, isQuick }: Setting): Promise<PartResult> => {
  const rounds = isQuick ? 3 : 15
  const [none, some, own, all] = await fourOf((name) => join(folder, `${name}.db`))
  const contenders = [none, some, own, all]
  const times = await alternate(contenders, rounds)
  // Without waits for the disk, which hold up the process too, followed or not.
  const quick = await fourOf((name) => join(folder, `${name}-quick.db?synchronous=off`))
  await alternate(quick, rounds)
  const result: PartResult = {
    title: 'Followers: durable appends of 1 KB messages, one at a time, while others follow',
    figures: [
      ...contenders.map(({ name }) => ({ what: name, figure: duration(timeOf(times, name)) })),
      atLeast('20 followers beside none', ratioOf(times, none.name, some.name), 0.7),
      atLeast('200 followers beside none', ratioOf(times, none.name, own.name), 0.7),
      { what: '200 of everything beside none', figure: ratioOf(times, none.name, all.name).toFixed(3) },
      ...quick.map(({ name, longestBlock }) =>
        atMost(`longest block of the process, ${name}`, longestBlock(), 20, duration),
      ),
    ],
    notes: [
      'Reader and writer are one process. A round ends when every follower has what it follows.',
      `A round is ${messages} appends, to ${conversations} conversations in turn. A block is the processor time that the thread takes at worst between two ticks of a timer of 1 ms, in as many rounds with synchronous=off.`,
    ],
  }
  for (const { close } of [...contenders, ...quick]) await close()
  return result
}

const fourOf = async (
  fileOf: (name: string) => string,
): Promise<readonly [Followed, Followed, Followed, Followed]> => [
  await followedBy(fileOf('none'), 'no followers', 0),
  await followedBy(fileOf('some'), '20 followers, each of one conversation', 20),
  await followedBy(fileOf('own'), '200 followers, each of one conversation', 200),
  await followedBy(fileOf('all'), '200 followers of everything', 200, true),
]

const followedBy = async (file: string, name: string, count: number, isOfAll = false): Promise<Followed> => {
  const store = await openStore(`sqlite:${file}`)
  const chats = Array.from({ length: conversations }, (_, index) => store.conversation(`bench-${index}`))
  for (const chat of chats) await chat.append(messageAt(0))
  const stop = new AbortController()
  const { signal } = stop
  let seen = 0
  let wanted = 0
  let enough = (): void => undefined
  const following = Array.from({ length: count }, async (_, index) => {
    const chat = chats[index]
    const source = isOfAll ? store.follow({ signal }) : chat?.events({ follow: true, signal })
    for await (const item of source ?? []) if (item.type !== 'checkpoint' && ++seen === wanted) enough()
  })
  const delivered = (more: number): Promise<void> =>
    new Promise((resolve) => {
      wanted += more
      enough = resolve
      if (seen >= wanted) resolve()
    })
  const each = isOfAll ? count : count / conversations
  await delivered(isOfAll ? count * conversations : count)
  const watch = watched()
  let next = 0
  return {
    name,
    round: async () => {
      watch.start()
      const spent = await timed(async () => {
        for (let n = 0; n < messages; n++) await chats[next++ % conversations]?.append(messageAt(next))
        await delivered(messages * each)
      })
      watch.stop()
      return spent / messages
    },
    longestBlock: watch.longest,
    close: async () => {
      stop.abort()
      await Promise.all(following)
      await store.close()
    },
  }
}

/** How long this thread works between two rounds of its event loop, at worst, while it is watched: processor time, in milliseconds. */
const watched = (): {
  readonly start: () => void
  readonly stop: () => void
  readonly longest: () => number
} => {
  let longest = 0
  let before = 0
  let timer: NodeJS.Timeout | undefined
  const spent = (): number => {
    const { user, system } = process.threadCpuUsage()
    return (user + system) / 1_000
  }
  const note = (): void => {
    const now = spent()
    longest = Math.max(longest, now - before)
    before = now
  }
  return {
    start: () => {
      before = spent()
      timer = setInterval(note, 1)
    },
    stop: () => {
      note()
      clearInterval(timer)
    },
    longest: () => longest,
  }
}
