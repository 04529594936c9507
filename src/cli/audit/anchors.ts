import { existsSync } from 'node:fs'
import * as E from 'fp-ts/lib/Either.js'
import { basename } from 'node:path'
import { openEvents } from '../../api/open.ts'
import { toPromise } from '../../api/promises.ts'
import type { EventStore } from '../../store/port.ts'
import type { Anchor, Store } from '../../index.ts'
import { toError } from '../../result/typed-error.ts'
import { usage } from '../errors.ts'
import { fileText } from '../options.ts'

/** Anchors given on the command line, with a function that closes their stores. */
export interface AnchorSet {
  readonly anchors: readonly Anchor[]
  /** Names of the anchors that are folders and did not exist, as when a disk is not mounted. The first checkpoint creates them. */
  readonly newFolders: ReadonlySet<string>
  readonly close: () => Promise<void>
}

/**
 * Opens anchors as given on the command line: a file, a folder, `git:FOLDER`, the URL of a store, the URL of a witness with its key, or
 * `tsa:` with the URL of a timestamp authority and the file of its certificates.
 */
export const openAnchors = async (places: readonly string[] = []): Promise<AnchorSet> => {
  const stores: EventStore[] = []
  const anchors: Anchor[] = []
  const newFolders = new Set<string>()
  const close = async (): Promise<void> => {
    for (const store of stores) await store.close()()
  }
  try {
    for (const place of places) {
      const anchor = await anchorAt(place, stores)
      anchors.push(anchor)
      if (anchor.name === pathOf(place) && place.endsWith('/') && !existsSync(anchor.name))
        newFolders.add(anchor.name)
    }
  } catch (error) {
    await close()
    throw error
  }
  return { anchors, newFolders, close }
}

/** Returns the anchors in the records of a store that are files or folders of this machine. */
export const recordedFiles = async ({ audit }: Store): Promise<readonly string[]> => {
  const { anchors } = await audit.status()
  return anchors.map(({ anchor }) => anchor).filter((anchor) => existsSync(anchor))
}

const anchorAt = async (place: string, stores: EventStore[]): Promise<Anchor> => {
  if (/^(file:|git:)?$/.test(place)) throw unusable(place, 'name a file or a folder')
  const { fileAnchor, gitAnchor, parseKey, storeAnchor, timestampAnchor, witnessAnchor } =
    await import('../../audit.ts')
  if (place.startsWith('git:')) return gitAnchor(place.slice('git:'.length))
  if (place.startsWith('file:')) return fileAnchor(pathOf(place))
  if (place.startsWith('tsa:')) {
    const [, url, file] = /^tsa:(https?:[^#]+)#(.+)$/.exec(place) ?? []
    if (url === undefined || file === undefined)
      throw unusable(place, 'write a timestamp authority as tsa:URL#FILE, with the file of its certificates')
    return timestampAnchor({ url, trust: await fileText(file) })
  }
  if (/^https?:/.test(place)) {
    const [url = '', key = ''] = place.split('#')
    const known = parseKey(decodeURIComponent(key))
    if (E.isLeft(known) || known.right.use !== 'witness')
      throw unusable(place, 'write a witness as URL#KEY, with its verifier key')
    return witnessAnchor({ url, key: known.right })
  }
  if (!/^[a-z][a-z0-9+.-]+:/.test(place)) {
    // Of a path that does not exist yet, nobody knows if it is meant as a file or a folder.
    if (!/[./]/.test(basename(place)) && !place.endsWith('/') && !existsSync(place))
      throw unusable(
        place,
        `there is no such file or folder: for a folder, write --anchor ${place}/; for a file, --anchor ${place}.txt`,
      )
    return fileAnchor(place)
  }
  if (place.startsWith('memory:'))
    throw unusable(place, 'a memory: store would be lost when this command ends')
  const store = await toPromise(openEvents(place, 'late'))
  stores.push(store)
  return storeAnchor(store)
}

const pathOf = (place: string): string => place.replace(/^file:/, '')

const unusable = (place: string, form: string): Error => toError(usage(`--anchor ${place}: ${form}`))
