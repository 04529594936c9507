import type { CoveringLegalHold, DiffOptions, MessageInput, WriteResult } from '../../index.ts'
import type { BodyOf } from './api.ts'
import { createInvestigatingClient } from './investigating-client.ts'
import { createReadingMethods } from './reading-methods.ts'
import { sendable, type Transport, withId } from './transport.ts'
import { searchPages, createTurnMethod } from './turn-method.ts'
import type { ConversationClient } from './types.ts'

type Subject = 'effective' | 'full' | 'request' | undefined
type Command = BodyOf<'/conversations/{id}/commands'>
/**
 * Converts messages to the form that the server accepts. A system message without content, which the library allows, gets empty
 * content.
 */
const several = (given: MessageInput | readonly MessageInput[]) =>
  [given]
    .flat()
    .map((message) => (message.role === 'system' ? { ...message, content: message.content ?? [] } : message))

/** Returns a client for a conversation on a server, with the methods of the library. */
export const conversation = (server: Transport, id: string): ConversationClient => {
  const { get, post } = server
  const of = { id }
  let before: Promise<unknown> = Promise.resolve()

  /**
   * Sends requests one after another, in the order of the calls. Each command is sent with the content that it had at the time of the
   * call.
   */
  const inOrder = <A>(ask: () => Promise<A>): Promise<A> => {
    const mine = before.then(ask)
    before = mine.catch(() => {})
    return mine
  }
  const write = (type: Command['type'], given: object = {}): Promise<WriteResult> => {
    try {
      const command = sendable(() => structuredClone(withId({ ...given, type })) as Command)
      return inOrder(() => post('/conversations/{id}/commands', of, command))
    } catch (error) {
      return Promise.reject(error)
    }
  }
  const preview: ConversationClient['preview'] = (command) =>
    post('/conversations/{id}/commands', of, { ...command } as Command, { dryRun: true })

  const items = async <A>(answer: Promise<{ readonly items: A }>): Promise<A> => (await answer).items
  const done = async (answer: Promise<unknown>): Promise<void> => void (await answer)

  return {
    id,
    append: (message, options) => write('append', { ...options, messages: several(message) }),
    configure: (input) => write('configure', input),
    condense: (input) => write('condense', input),
    truncate: (input) => write('truncate', input),
    restore: (input) => write('restore', input),
    rewind: (input) => write('rewind', input),
    undo: (input) => write('undo', input),
    execute: async ({ type, ...given }) =>
      write(type, 'messages' in given ? { ...given, messages: several(given.messages) } : given),
    fork: async (fork, options) => {
      await write('fork', { ...options, id: fork })
      return conversation(server, fork)
    },
    preview,
    ...createReadingMethods(server, id),
    ...createInvestigatingClient(server, id),
    render: (options) => get('/conversations/{id}/request', of, { ...options }),
    // The type of the response depends on `of`.
    diff: (options: DiffOptions & { readonly of?: Subject }) =>
      get<never, '/conversations/{id}/diff'>('/conversations/{id}/diff', of, { ...options }),
    hidden: async (markers) =>
      markers.length === 0 ? [] : items(get('/conversations/{id}/hidden', of, { markers })),
    notes: (options) => items(get('/conversations/{id}/notes', of, { ...options })),
    note: (note, options) => post('/conversations/{id}/notes', of, withId({ ...note, ...options })),
    link: (link, options) => post('/conversations/{id}/links', of, withId({ ...link, ...options })),
    say: (message, options) => {
      const said = withId({ ...options, messages: several(message) })
      return inOrder(() => post('/conversations/{id}/messages', of, said))
    },
    cancel: (options = {}) => done(post('/conversations/{id}/cancel', of, options)),
    waiting: (options) => items(get('/conversations/{id}/waiting', of, { ...options })),
    approve: (call, options = {}) =>
      done(post('/conversations/{id}/waiting/{call}/approve', { id, call }, options)),
    deny: (call, options = {}) =>
      done(post('/conversations/{id}/waiting/{call}/deny', { id, call }, options)),
    withdraw: (call, options = {}) =>
      done(post('/conversations/{id}/waiting/{call}/withdraw', { id, call }, options)),
    request: (options = {}) => done(post('/conversations/{id}/request', of, options)),
    retry: (options = {}) => done(post('/conversations/{id}/retry', of, options)),
    pause: (options = {}) => done(post('/conversations/{id}/pause', of, options)),
    resume: (options = {}) => done(post('/conversations/{id}/resume', of, options)),
    erase: async ({ before: limit, dryRun, ...options } = {}) => {
      const time = limit && sendable(() => limit.toISOString())
      return post('/conversations/{id}/erase', of, { ...options, before: time }, { dryRun })
    },
    hold: (options = {}) => done(post('/conversations/{id}/hold', of, options)),
    release: (options = {}) => done(post('/conversations/{id}/release', of, options)),
    legalHold: async () => {
      const { hold }: { readonly hold?: CoveringLegalHold } = await get('/conversations/{id}/hold', of)
      return hold
    },
    turn: createTurnMethod(server, id),
    search: (text, options) => searchPages(server, id, text, options),
  }
}
