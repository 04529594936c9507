import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { keyFile } from '../../../src/store/seal/key-file.ts'
import { keyFolder } from '../../../src/store/seal/key-folder.ts'
import { sealWith } from '../../../src/store/seal/open-keys.ts'
import { storeContract } from '../../../src/testing/index.ts'
import { right } from '../../support/either.ts'
import { namespaced } from '../../support/namespaced.ts'
import { stores, temporaryFolder } from '../../support/stores.ts'

// A sealed store is a store like all others: the rules apply to its sealed streams.
const keys = {
  memory: () => keyFolder(join(temporaryFolder(), 'keys')),
  sqlite: () => keyFile(join(temporaryFolder(), 'keys.db')),
  eventstoredb: () => keyFile(join(temporaryFolder(), 'keys.db')),
}

describe.each(Object.entries(keys))('sealed, %s', (name, ofKeys) => {
  test.each(storeContract)('$title', async ({ run }) => {
    const open = stores[name]
    if (!open) throw new Error(`no store ${name}`)
    const store = right(await sealWith(ofKeys())(await open())())
    await expect(run(namespaced(store, 'conversation-'))).resolves.toBeUndefined()
    await store.close()()
  })
})
