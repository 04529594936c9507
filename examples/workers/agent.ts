import Anthropic from '@anthropic-ai/sdk'
import { z } from 'zod'
import { tool, type Conversation, type ServedConversation } from '../../src/index.ts'

// What `palimpsest work` loads in each process: how to give a turn to a conversation. The shop that it serves is at SHOP_URL, and the
// Anthropic SDK finds the API by itself (ANTHROPIC_BASE_URL, ANTHROPIC_API_KEY).

const client = new Anthropic()
const shop = process.env['SHOP_URL'] ?? ''

/** Asks the shop. The key is the same in each attempt at a call. */
const ask = async (path: string, key: string, signal: AbortSignal): Promise<string> => {
  const answer = await fetch(`${shop}/${path}`, {
    method: 'POST',
    headers: { 'idempotency-key': key },
    signal,
  })
  return answer.text()
}

const order = z.object({ order: z.string() })

const lookUp = tool({
  name: 'look_up',
  description: 'Says what is known of an order.',
  input: order,
  effect: 'none',
  run: ({ order: id }, { key, signal }) => ask(`orders/${id}`, key, signal),
})

/** Must not be carried out twice: if its process dies meanwhile, nobody repeats it, and the model is told that its outcome is unknown. */
const refund = tool({
  name: 'refund',
  description: 'Pays an order back.',
  input: order,
  run: ({ order: id }, { key, signal }) => ask(`refunds/${id}`, key, signal),
})

export default ({ id }: ServedConversation<Conversation>) => ({
  client,
  model: 'claude-opus-5-5',
  system: `You help the customers of a shop. This is conversation ${id}.`,
  tools: [lookUp, refund],
})
