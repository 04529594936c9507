import { setTimeout as sleep } from 'node:timers/promises'
import { isConversationId } from '../../events/ids.ts'
import { pause } from '../../result/timers.ts'
import type { Liveness, NameRelease } from '../port.ts'
import type { DatabaseSession, SessionPool } from './session.ts'
import { lockKey, type PostgresSettings } from './settings.ts'

/** Interval at which a session with held names is checked, and the maximum wait for an answer, in milliseconds. */
const checkInterval = 2_000
const checkPatience = 3_000
/** Wait before another attempt to connect, in milliseconds: the first, and the longest. */
const firstPause = 50
const longestPause = 1_000
/** Attempts to lock a new name, which another process may be checking, and the wait between them, in milliseconds. */
const holdTries = 5
const holdPause = 20
/** Maximum number of names that `names` returns. */
const mostNames = 10_000

/**
 * Creates a `Liveness` in which each name is held as a row of `holders`, under an advisory lock of a session that ends with the process.
 * A suspended process keeps its lock. The session may also end while the process lives, for example because the server restarts: then
 * the names are locked again at once, unless another process was faster; in that case the holder learns that it has lost its name.
 *
 * Through a pooler, where a lock belongs to nobody in particular, no names are held.
 *
 * @returns the `Liveness`; its method `drop` unlocks all names without releasing them, which has the same effect as the end of the
 * process
 */
export const postgresLiveness = (
  { schema }: PostgresSettings,
  pool: SessionPool,
  closing: AbortSignal,
): Liveness & { readonly drop: () => void } => {
  /** Names that this process holds, each with the function to call if it is lost. */
  const held = new Map<string, () => void>()
  let session: DatabaseSession | undefined
  let inTurn: Promise<unknown> = Promise.resolve()
  let checking: NodeJS.Timeout | undefined
  let isRecovering = false

  const keyOf = (name: string): string => lockKey(schema, `name ${name}`)

  /** Runs work on the session after all earlier work. A failure is undefined. */
  const use = <A>(work: (own: DatabaseSession) => Promise<A>): Promise<A | undefined> => {
    const done = inTurn.then(async () => {
      try {
        const own = await opened()
        if (!own || closing.aborted) return undefined
        own.keepAlive(true)
        return await work(own).finally(() => own.keepAlive(false))
      } catch {
        return undefined
      }
    })
    inTurn = done
    return done
  }

  /** Returns the session; undefined through a pooler. A new session locks the held names again. */
  const opened = async (): Promise<DatabaseSession | undefined> => {
    if (session?.isPooled === true) return undefined
    if (session && !session.isOver()) return session
    const own = await pool.open()
    session = own
    own.keepAlive(false)
    if (own.isPooled) {
      own.end()
      return undefined
    }
    for (const [name, lost] of held)
      if (!(await isRegained(own, name))) {
        held.delete(name)
        lost()
      }
    own.whenOver(() => void recover())
    return own
  }

  const isRegained = async ({ query }: DatabaseSession, name: string): Promise<boolean> => {
    const [row] = await query('SELECT pg_try_advisory_lock($1) AS got', [keyOf(name)], 'lock_name')
    // A process that inherits a name removes it at the end.
    const isMine = row?.['got'] === true && (await isKnown({ query }, name))
    if (row?.['got'] === true && !isMine) await unlock({ query }, name)
    return isMine
  }

  const isKnown = async ({ query }: Pick<DatabaseSession, 'query'>, name: string): Promise<boolean> =>
    (await query(`SELECT FROM ${schema}.holders WHERE name = $1`, [name], 'is_held')).length > 0

  /** Opens the session again after it has ended, as long as names are held. */
  const recover = async (): Promise<void> => {
    if (isRecovering) return
    isRecovering = true
    for (let wait = firstPause; held.size > 0 && !closing.aborted; wait = Math.min(2 * wait, longestPause)) {
      if ((await use(() => Promise.resolve(true))) === true) break
      await pause(wait, closing)
    }
    isRecovering = false
  }

  /** Asks the server from time to time, because a connection that was cut reports nothing until it is used. */
  const check = (): void => {
    checking ??= setInterval(() => {
      if (held.size > 0) void use(({ query }) => query('SELECT 1', [], 'check', checkPatience))
    }, checkInterval).unref()
  }

  const unlock = ({ query }: Pick<DatabaseSession, 'query'>, name: string): Promise<unknown> =>
    query('SELECT pg_advisory_unlock($1)', [keyOf(name)], 'unlock_name')

  const releaseOf =
    (name: string): NameRelease =>
    async () => {
      if (!held.delete(name)) return
      await use(async (own) => {
        // Removed before it is unlocked, so that no other process concludes that this one has ended.
        await own.query(`DELETE FROM ${schema}.holders WHERE name = $1`, [name], 'forget_name')
        await unlock(own, name)
      })
    }

  const holdNew = async (
    own: DatabaseSession,
    name: string,
    lost: () => void,
  ): Promise<NameRelease | undefined> => {
    if (held.has(name)) return undefined
    for (let tries = 1; ; tries++) {
      const [row] = await own.query('SELECT pg_try_advisory_lock($1) AS got', [keyOf(name)], 'lock_name')
      if (row?.['got'] === true) break
      if (tries === holdTries) return undefined
      await sleep(holdPause)
    }
    const added = await own.query(
      `INSERT INTO ${schema}.holders VALUES ($1) ON CONFLICT DO NOTHING RETURNING name`,
      [name],
      'hold_name',
    )
    if (added.length === 0) {
      await unlock(own, name)
      return undefined
    }
    held.set(name, lost)
    check()
    return releaseOf(name)
  }

  // The names that a worker checks at one time are locked in one statement, most often without success.
  let wanted: { readonly names: Set<string>; readonly gained: Promise<ReadonlySet<string>> } | undefined
  const gain = (name: string): Promise<ReadonlySet<string>> => {
    if (!wanted) {
      const names = new Set<string>()
      const gained = use(async (own) => {
        wanted = undefined
        const free = [...names].filter((one) => !held.has(one))
        const locked = await own.query(
          `WITH tried AS MATERIALIZED (
             SELECT u.name, pg_try_advisory_lock(u.key) AS got FROM unnest($1::text[], $2::bigint[]) u (name, key)
           ) SELECT t.name FROM tried t WHERE t.got`,
          [free, free.map(keyOf)],
          'lock_names',
        )
        const mine = new Set<string>()
        for (const row of locked) {
          const one = String(row['name'])
          if (await isKnown(own, one)) {
            held.set(one, () => undefined)
            mine.add(one)
          } else await unlock(own, one)
        }
        return mine
      }).then((mine) => {
        wanted = undefined
        return mine ?? new Set<string>()
      })
      wanted = { names, gained }
    }
    wanted.names.add(name)
    return wanted.gained
  }

  return {
    hold: async (name, lost = () => undefined) =>
      isConversationId(name) ? use((own) => holdNew(own, name, lost)) : undefined,
    inherit: async (name) => {
      if (!isConversationId(name) || held.has(name)) return undefined
      const gained = await gain(name)
      return gained.has(name) ? releaseOf(name) : undefined
    },
    names: async () => {
      const rows = await use(({ query }) =>
        query(`SELECT name FROM ${schema}.holders ORDER BY name LIMIT ${mostNames}`, [], 'names'),
      )
      return (rows ?? []).map(({ name }) => String(name))
    },
    drop: () => {
      clearInterval(checking)
      held.clear()
      session?.end()
    },
  }
}
