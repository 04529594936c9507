import { z } from 'zod'
import { conversationNotFound } from '../../commands/rejections.ts'
import { isError, type Conversation, type LedgerProof, type Store } from '../../index.ts'
import { toError } from '../../result/typed-error.ts'
import { auditShape, checkedShape, standingShape } from '../shapes/audit.ts'
import { lane, openBounded } from '../bounded.ts'
import { everyCallIn } from '../../agent/receipts/calls.ts'
import { evidenceOf, exportCommand } from '../evidence.ts'
import { ofConversation } from '../parameters.ts'
import { route } from '../route.ts'

// Proofs that conversations have not been changed since they were recorded. docs/audit.md, docs/evidence.md.

const inTurn = lane()

export const audit = route({
  method: 'get',
  path: '/audit',
  name: 'audit',
  summary:
    'Returns the status of the ledger: checkpoints, anchors, and which events could still be rewritten unnoticed',
  scope: 'audit',
  answers: { 200: auditShape },
  errors: ['Overloaded', 'LedgerDamaged'],
  handle: ({ store, leaving }) =>
    inTurn(leaving, async () => ({ body: { ledger: await unlessMissing(() => store.audit.status()) } })),
})

/** Returns undefined instead of an error if the store has no ledger or the conversation is not sealed. */
const unlessMissing = async <A>(work: () => Promise<A>): Promise<A | undefined> => {
  try {
    return await work()
  } catch (error) {
    if (isError(error, 'LedgerNotFound') || isError(error, 'NotSealed')) return undefined
    throw error
  }
}

export const standing = route({
  method: 'get',
  path: '/conversations/{id}/audit',
  name: 'standing',
  summary: "Returns the ledger's entries for a conversation, compared with its events",
  scope: 'audit',
  params: ofConversation,
  answers: { 200: standingShape },
  errors: ['ConversationNotFound', 'TooLong', 'Overloaded'],
  handle: ({ params: { id }, store, leaving }) =>
    inTurn(leaving, async () => {
      const last = await lastOf(store, id)
      const found = await standingIn(store, id)
      // If a sealed conversation is gone, the response reports that.
      if (last < 0 && !found.ledger?.heads.length) throw toError(conversationNotFound(id))
      return { body: { conversation: id, last, ...found } }
    }),
})

/** Returns the last position of a conversation, or -1 if the conversation does not exist. */
const lastOf = async (store: Pick<Store, 'conversation'>, id: string): Promise<number> => {
  try {
    return await (await openBounded(store, id, 'audit verify')).position()
  } catch (error) {
    if (isError(error, 'ConversationNotFound')) return -1
    throw error
  }
}

/**
 * Returns the ledger's record of a conversation. A ledger that contradicts itself is reported as a result, not as a fault of the
 * server.
 */
const standingIn = async ({ audit: ledgers }: Pick<Store, 'audit'>, id: string) => {
  try {
    const ledger = await unlessMissing(() => ledgers.standing(id))
    const proof: LedgerProof | undefined =
      ledger && ledger.heads.length > 0 ? await unlessMissing(() => ledgers.proof(id)) : undefined
    return ledger ? { ledger: { ...ledger, ...(proof && { proof }) } } : {}
  } catch (error) {
    if (!isError(error, 'LedgerDamaged')) throw error
    return { problem: error.message }
  }
}

export const verification = route({
  method: 'get',
  path: '/conversations/{id}/verification',
  name: 'verification',
  summary: 'Recomputes every hash of a conversation and every request with a receipt',
  scope: 'audit',
  params: ofConversation,
  answers: { 200: checkedShape },
  errors: ['ConversationNotFound', 'TooLong', 'Overloaded'],
  handle: ({ params: { id }, store, leaving }) =>
    inTurn(leaving, async () => {
      const chat = await openBounded(store, id, `verify ${id} --receipts`)
      const { events, erased: gone, inherited, discrepancy } = await chat.verify({ file: false })
      const erased = gone === undefined ? {} : { erased: gone }
      const body = {
        conversation: id,
        last: await chat.position(),
        events,
        ...erased,
        ...(inherited && { inherited }),
      }
      try {
        const receipts = await receiptsOf(chat)
        return { body: { ...body, ...(discrepancy && { discrepancy }), receipts } }
      } catch (error) {
        // The discrepancy already explains why the events cannot be read.
        if (!discrepancy) throw error
        return { body: { ...body, discrepancy } }
      }
    }),
})

const mostFindings = 1_000

const receiptsOf = async (chat: Conversation) => {
  const { receipts: verified, findings, erased } = await chat.verifyReceipts()
  const missing = findings.filter(({ kind }) => kind === 'missing').length
  let reconstructed = 0
  for await (const call of everyCallIn(chat.events()))
    if ('isMissing' in call && !call.isMissing) reconstructed++
  return {
    verified,
    differs: findings.length - missing,
    ...(erased !== undefined && { erased }),
    missing,
    reconstructed,
    findings: findings.slice(0, mostFindings),
  }
}

export const evidence = route({
  method: 'post',
  path: '/conversations/{id}/evidence',
  name: 'evidence',
  summary: 'Exports the evidence bundle of a conversation, with a program to verify it, as a ZIP archive',
  scope: 'audit',
  params: ofConversation,
  body: z.strictObject({
    calls: z
      .strictObject({ first: z.int().min(1), last: z.int().min(1) })
      .optional()
      .describe('Include only the requests of calls with these numbers, both ends included. Default: all'),
    withhold: z
      .array(z.int().min(0))
      .max(10_000)
      .default([])
      .describe(
        'Positions of events to withhold: the bundle contains the hash and the end of the text of each, not its content',
      ),
    reason: z.string().min(1).max(1_000).optional().describe('Reason, recorded with the export'),
    force: z.boolean().default(false).describe('Export even if the content contains what looks like secrets'),
  }),
  answers: {},
  media: ['application/zip'],
  sends: ['Content-Disposition', 'Palimpsest-Evidence'],
  errors: ['ConversationNotFound', 'CallOutOfRange', 'SecretsFound', 'TooLong', 'Overloaded'],
  handle: ({ params: { id }, body, store, identity: { by }, leaving }) =>
    inTurn(leaving, async () =>
      evidenceOf(store, await openBounded(store, id, exportCommand(id, body)), body, by),
    ),
})
