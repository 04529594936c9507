import { statfsSync, statSync, type Stats } from 'node:fs'
import { dirname } from 'node:path'
import * as E from 'fp-ts/lib/Either.js'
import { bytesText, type DiagnosisFinding, findingOf } from '../diagnosis.ts'
import { networkMount } from './network.ts'
import { lookAt, unwritableAmong, unwritableText } from './open.ts'
import type { SqliteSettings } from './settings.ts'

const MiB = 1024 * 1024
/** Free space below which the next messages may not fit, in bytes: an event has up to 16 MiB and is also written to the WAL. */
const leastFree = 64 * MiB
const comfortableFree = 1024 * MiB
/** Size above which a WAL is reported, in bytes. A WAL is checkpointed at about 1 MiB unless a reader holds it open. */
const largeWal = 256 * MiB

const statsOf = (path: string): Stats | undefined => statSync(path, { throwIfNoEntry: false })

const creates = 'check the path; an import or an append creates the store'

export const fileFinding = (settings: SqliteSettings): DiagnosisFinding => {
  const { url } = settings
  const file = lookAt(settings)
  const problem = (message: string): DiagnosisFinding => findingOf('file', 'problem', message)
  if (E.isLeft(file)) return problem(file.left.message)
  const name = url.slice('sqlite:'.length)
  if (!file.right) return problem(`there is no file ${name}: ${creates}`)
  return file.right.size === 0
    ? problem(`${name} is empty: ${creates}`)
    : findingOf('file', 'ok', `${name}, ${bytesText(file.right.size)}`)
}

/** Warns if the store is on a network file system; returns no finding if the store is on a local disk or this cannot be determined. */
export const network = ({ path }: SqliteSettings): readonly DiagnosisFinding[] => {
  const mount = networkMount(path)
  if (!mount) return []
  return [
    findingOf(
      'file system',
      'warning',
      `${mount.type} (${mount.source}): SQLite's WAL does not work over a network file system, and neither do the file locks of many such systems: if a process on another machine also opens the file, the file may be damaged. Move it to a local disk; for several machines, use EventStoreDB`,
    ),
  ]
}

/**
 * Checks whether this user can write the store's files, and whether other users can access them, because the files were created before
 * this program made them private, or because their permissions were changed.
 */
export const permissions = ({ path }: SqliteSettings): DiagnosisFinding => {
  const check = 'permissions'
  const unwritable = unwritableAmong(path)
  if (unwritable.length > 0) return findingOf(check, 'problem', unwritableText(unwritable))
  // Windows has no such permissions.
  if (process.platform === 'win32') return findingOf(check, 'ok', 'those of the folder')
  const open = [path, `${path}-wal`, `${path}-shm`].filter(
    (file) => ((statsOf(file)?.mode ?? 0) & 0o077) !== 0,
  )
  return open.length === 0
    ? findingOf(check, 'ok', 'only its owner can read it')
    : findingOf(
        check,
        'warning',
        `other users of this machine may read or write it: chmod 600 ${open.map((file) => `'${file}'`).join(' ')}, unless they are meant to`,
      )
}

export const room = ({ path }: SqliteSettings): DiagnosisFinding => {
  const { bavail, bsize } = statfsSync(dirname(path))
  const free = bavail * bsize
  const status = free < leastFree ? 'problem' : free < comfortableFree ? 'warning' : 'ok'
  return findingOf(
    'free room',
    status,
    bytesText(free) + (status === 'ok' ? '' : ': free some room on the disk'),
  )
}

export const wal = (settings: SqliteSettings): DiagnosisFinding => {
  const size = statsOf(`${settings.path}-wal`)?.size ?? 0
  const [old] = oldWal(settings)
  if (old) return old
  return size < largeWal
    ? findingOf('WAL', 'ok', bytesText(size))
    : findingOf(
        'WAL',
        'warning',
        `${bytesText(size)}: a long read by some process keeps SQLite from checkpointing it; end that process`,
      )
}

/** Time after the WAL's last write during which a checkpoint may still change the file, in milliseconds. */
const checkpointTime = 60_000

/** Warns about a WAL that seems to belong to another database file: SQLite would write the pages of that WAL into the current file. */
export const oldWal = ({ path }: SqliteSettings): readonly DiagnosisFinding[] => {
  const [file, log] = [statsOf(path), statsOf(`${path}-wal`)]
  if (!file || !log?.size) return []
  // If the file system records no birth time, Node returns the time of the last change instead.
  const isYounger = file.birthtimeMs !== file.ctimeMs && file.birthtimeMs > log.mtimeMs
  if (!isYounger && file.mtimeMs < log.mtimeMs + checkpointTime) return []
  return [
    findingOf(
      'WAL',
      'warning',
      `${path}-wal is older than the database file: if that file was restored from a backup, end every process that has it open, move the -wal and -shm files away, and restore the file again`,
    ),
  ]
}
