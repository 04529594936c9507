import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { keyFile } from '../../../src/store/seal/key-file.ts'
import { sealWith } from '../../../src/store/seal/open-keys.ts'
import { storeContract } from '../../../src/testing/index.ts'
import { right } from '../../support/either.ts'
import { namespaced } from '../../support/namespaced.ts'
import { stores, temporaryFolder } from '../../support/stores.ts'

// The rules apply to sealed streams, whose names begin with this.
const prefix = 'conversation-'

describe('a sealed SQLite store', () => {
  test.each(storeContract)('$title', async ({ run }) => {
    const inner = await stores['sqlite']?.()
    if (!inner) throw new Error('no SQLite store')
    const store = right(await sealWith(keyFile(join(temporaryFolder(), 'keys.db')))(inner)())
    await expect(run(namespaced(store, prefix))).resolves.toBeUndefined()
    await store.close()()
  })
})
