import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import type { Event } from '../../../src/events/events.ts'
import type { ChatForm } from '../../../src/agent/models/form.ts'
import type { Chat } from '../../../src/agent/models/openai/chat/chat.ts'
import type { ChatRepairKind } from '../../../src/agent/models/openai/chat/types.ts'
import { effective } from '../../../src/projections/effective.ts'
import { digestOf } from '../../../src/agent/receipts/canonical.ts'
import { requestOf } from '../../../src/agent/receipts/request.ts'
import { right } from '../../support/either.ts'
import { logOf } from '../../support/log.ts'

/** A log, and the request that it made in a form when the translation was the current one. Never edited. */
interface Golden {
  readonly form: ChatForm
  readonly events: readonly Event[]
  readonly chat: Chat
  readonly repairs: readonly { readonly kind: string }[]
  readonly digest: string
}

const folder = new URL('../../golden/chat/1/', import.meta.url)
const all = readdirSync(folder).map(
  (file) => [file, JSON.parse(readFileSync(new URL(file, folder), 'utf8')) as Golden] as const,
)
const frozen =
  'receipts of requests made before would fail: leave this version as it was, and give the changed one the next number; docs/adr/0023-other-forms-are-translations.md'

describe('version 1 of the translation makes the request that it made, to the byte', () => {
  it.each(all)('%s', (_, { form, events, chat, repairs, digest }) => {
    const made = right(requestOf(effective(logOf(...events)), { renderer: 1, form }))
    expect(JSON.stringify(made.chat, undefined, 2), `version 1: ${frozen}`).toBe(
      JSON.stringify(chat, undefined, 2),
    )
    expect(JSON.stringify(made.repairs, undefined, 2), `version 1: ${frozen}`).toBe(
      JSON.stringify(repairs, undefined, 2),
    )
    expect(digestOf(made), `version 1: ${frozen}`).toBe(digest)
  })

  it('in every kind of repair', () => {
    const kinds: Readonly<Record<ChatRepairKind, true>> = {
      'assistant-added': true,
      'cache-control-dropped': true,
      'calls-moved': true,
      'field-dropped': true,
      'id-replaced': true,
      'media-moved': true,
      'message-dropped': true,
      'name-replaced': true,
      'parameter-dropped': true,
      'roles-merged': true,
      'schema-completed': true,
      'server-tool-dropped': true,
      'shown-as-text': true,
      'thinking-dropped': true,
      'tool-dropped': true,
    }
    const shown = new Set(all.flatMap(([, { repairs }]) => repairs.map(({ kind }) => kind)))
    expect(Object.keys(kinds).filter((kind) => !shown.has(kind))).toEqual([])
  })
})
