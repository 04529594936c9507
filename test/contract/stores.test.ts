import { describe, expect, test } from 'vitest'
import { storeContract } from '../../src/testing/contract.ts'
import { stores } from '../support/stores.ts'

describe.each(Object.entries(stores))('the %s store', (_, open) => {
  test.each(storeContract)('$title', async ({ run }) => {
    const store = await open()
    await expect(run(store)).resolves.toBeUndefined()
    await store.close()()
  })
})
