import { hash } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { EventStore } from '../../src/store/port.ts'
import { keyFile } from '../../src/store/seal/key-file.ts'
import type { KeyStore } from '../../src/store/seal/key-store.ts'

// Keys for stores that tests open without any (vitest.sealed.config.ts).

/** Folder of the key files of this process. */
let folder: string | undefined

/** Keys of adapters, by their `append` and `blobs`: an adapter that a test makes of another has one of them in common with it. */
const ofAdapters = new WeakMap<object, KeyStore>()

/** Returns the keys for a store without keys of its own: the same for the same address or adapter. */
export const keysFor = (source: unknown): KeyStore => {
  if (typeof source !== 'string') {
    const { append, blobs } = source as EventStore
    const keys = ofAdapters.get(append) ?? ofAdapters.get(blobs) ?? memoryKeys()
    for (const part of [append, blobs]) ofAdapters.set(part, keys)
    return keys
  }
  if (source.startsWith('memory:')) return memoryKeys()
  const [address = ''] = source.split('?')
  const place = address.startsWith('sqlite:') ? resolve(address.slice('sqlite:'.length)) : address
  return keyFile(join(keyFolder(), `${hash('sha256', place)}.db`))
}

const keyFolder = (): string => {
  if (folder === undefined) {
    const made = mkdtempSync(join(tmpdir(), 'palimpsest-keys-'))
    folder = made
    process.once('exit', () => rmSync(made, { recursive: true, force: true }))
  }
  return folder
}

/** Returns the shell function that runs the program with the keys that `keysFor` gives the same stores. */
export const programWithKeys = (): string =>
  `sealed() {
    local path="\${1#sqlite:}"
    [[ $path == /* ]] || path="$PWD/$path"
    echo "$1?seal=${keyFolder()}/$(printf %s "$path" | sha256sum | cut -c1-64).db"
  }
  palimpsest() {
    local all=() one
    for one; do
      [[ $one == sqlite:*.db && $one != *seal=* ]] && one=$(sealed "$one")
      all+=("$one")
    done
    PALIMPSEST_STORE="\${PALIMPSEST_STORE:-$(sealed sqlite:palimpsest.db)}" "$NODE" "$PALIMPSEST" "\${all[@]}"
  }`

const memoryKeys = (): KeyStore => {
  const texts = new Map<string, string>()
  return {
    name: 'keys in memory',
    read: async (id) => texts.get(id),
    write: async (id, text, before) => {
      if (texts.get(id) !== before) return false
      texts.set(id, text)
      return true
    },
    close: async () => undefined,
  }
}
