import { describe } from 'vitest'
import { openClient } from 'palimpsest/client'
import { serve } from '../../../src/server/serve.ts'
import { conversationContract } from '../../contract/conversation-contract.ts'
import { atEnd } from '../../support/at-end.ts'
import { opened } from '../../support/stores.ts'

describe('a conversation over HTTP', () => {
  conversationContract(async () => {
    const server = await serve({ store: await opened('memory:'), port: 0 })
    atEnd(server.close)
    return openClient(server.url)
  })
})
