import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import type { QueuedMessage } from '../../../src/conversation/beside/inbox.ts'
import type { ContextExceeded, ModelAborted } from '../../../src/agent/models/model.ts'
import { nextAction } from '../../../src/agent/turn/next-action.ts'
import { evolveTurn, newCourse, totalsOf } from '../../../src/agent/turn/turn-state.ts'
import type { NewMessage } from '../../../src/commands/command.ts'
import { digestOf } from '../../../src/agent/receipts/canonical.ts'
import { assistant, blocksOf, configured, text, toolResult, toolUse, user } from '../../support/log.ts'
import { found, given, nowOf, replyAt, starting } from '../../support/turn-rules.ts'

// The rules of a turn, in the order of docs/turns-reference.md: given a log and what the turn has done, it does this next.

const stop = { stopReason: 'end_turn' }
const call = assistant([toolUse('a')], { stopReason: 'tool_use' })
const calling = replyAt(2, [toolUse('a')], { stopReason: 'tool_use' })
const pause = { stopReason: 'pause_turn' }
const search = { type: 'server_tool_use', id: 's', name: 'web_search', input: {} }

const words = 'word '.repeat(400)
const long = [user('Why?'), ...Array.from({ length: 12 }, (_, n) => (n % 2 ? user(words) : assistant(words)))]

/** Messages in the inbox. */
const mail = (...contents: readonly Parameters<typeof blocksOf>[0][]): readonly QueuedMessage[] =>
  contents.map((content, revision) => ({
    type: 'Queued',
    revision,
    id: `queued-${revision}`,
    data: { messages: [{ role: 'user', content: blocksOf(content) } satisfies NewMessage], at: 0 },
    metadata: {
      schema: 1,
      time: '2026-01-01T00:00:00.000Z',
      actor: { kind: 'test' },
      commandId: `q-${revision}`,
      prev: null,
    },
  }))

describe('what happens when a turn begins', () => {
  it('reads the log and the inbox', () => {
    starting().then('look')
  })

  it('claims the conversation before it writes anything', () => {
    starting({ system: 'Be brief.' })
      .when({ type: 'found', now: nowOf(given(user('Why?'))), mail: [] })
      .then({ type: 'enter', isFirst: true, hasFinished: false })
  })

  it('then adds up what the turn has cost so far, and calls the model', () => {
    starting()
      .when(...found(user('Why?')))
      .then('open-account')
      .when({ type: 'account-opened', now: nowOf(given(user('Why?'))), entries: [] })
      .then('ask-model')
  })

  it('fails and writes nothing if the model has nothing to answer', () => {
    starting({ system: 'Be brief.' })
      .when({ type: 'found', now: nowOf(given(user('Why?'), assistant('So.', stop))), mail: [] })
      .then({ type: 'fail', error: { _tag: 'NothingToAnswer' } })
  })

  it('records the configuration of the request if another is in force', () => {
    given(configured({ model: 'b' }), user('Why?')).then({
      type: 'prepare',
      preparation: { type: 'configure', input: { model: 'a', after: 2 } },
    })
  })

  it('answers calls that an earlier turn has left open', () => {
    given(user('Why?'), call).then({ type: 'answer-calls', open: [{ use: 2 }] })
  })
})

describe('what happens when the model has replied', () => {
  it('and has finished: the inbox is checked, and the turn ends', () => {
    given(user('Why?'))
      .when({ type: 'answered', reply: replyAt(2), isFollowed: false, asked: nowOf(given(user('Why?'))) })
      .then('check-inbox')
      .when({ type: 'inbox-checked', ending: { reply: replyAt(2), mail: [] } })
      .then({ type: 'finish', reply: { position: 2 } })
  })

  it('and stopped before it was done: the turn ends, too', () => {
    given(user('Why?'))
      .when({
        type: 'answered',
        reply: replyAt(2, 'So', { stopReason: 'max_tokens' }),
        isFollowed: false,
        asked: nowOf(given(user('Why?'))),
      })
      .then('check-inbox')
  })

  it('with calls: they are carried out', () => {
    given(user('Why?'))
      .when(
        { type: 'answered', reply: calling, isFollowed: false, asked: nowOf(given(user('Why?'))) },
        ...found(user('Why?'), call),
      )
      .then({ type: 'answer-calls', open: [{ use: 2, call: { id: 'a' } }] })
  })

  it('with calls that have results: it is called again', () => {
    given(user('Why?'), call, user([toolResult('a')]))
      .with({ reply: calling })
      .then('ask-model')
  })

  it('with calls that only others can answer: the turn ends and hands them back', () => {
    const pending = [{ call: 'a', tool: 'run', input: {} }]
    const asked = nowOf(given(user('Why?'), call))
    given(user('Why?'), call)
      .when({ type: 'calls-answered', use: 2, left: { asked, waiting: [], pending } })
      .then({ type: 'check-inbox', reply: { position: 2, pending } })
  })

  it('and has finished, and the turn reads the log once more: that is no error', () => {
    given(user('Why?'))
      .with({ reply: replyAt(2) })
      .when({ type: 'found', now: nowOf(given(user('Why?'), assistant('So.', stop))), mail: [] })
      .then({ type: 'enter', isFirst: false, hasFinished: true })
  })

  it('and paused: it is called again to continue', () => {
    given(user('Why?'), assistant([text('Wait.')], pause))
      .with({ reply: replyAt(2, 'Wait.', pause) })
      .then('ask-model')
  })

  it('and the API has compacted the context: that is recorded first', () => {
    given(user('Why?'), assistant([{ type: 'compaction', content: 'S' }, text('So.')], stop)).then({
      type: 'prepare',
      preparation: { type: 'condense', input: { method: 'provider', covers: { first: 1, last: 1 } } },
    })
  })

  it('is not called more often than maxCalls allows', () => {
    const rule = given(user('Why?')).by({ maxCalls: 1 })
    rule.then('ask-model')
    rule
      .with({ course: { ...rule.state.course, calls: 1 } })
      .then({ type: 'fail', error: { _tag: 'TooManyCalls', calls: 1 } })
  })
})

describe('what happens when the user says something meanwhile', () => {
  it('in the inbox: it is moved to the end of the conversation', () => {
    starting()
      .when({ type: 'found', now: nowOf(given(user('Why?'))), mail: mail('And line 60?') })
      .then({ type: 'take-in', mail: [{ revision: 0 }] })
      .when({ type: 'taken-in' })
      .then('look')
  })

  it('in the inbox, and calls are open: it stays there until they have results', () => {
    starting()
      .when({ type: 'found', now: nowOf(given(user('Why?'), call)), mail: mail('And line 60?') })
      .then('enter')
  })

  it('in the inbox, with the results of the open calls: it is moved', () => {
    starting()
      .when({ type: 'found', now: nowOf(given(user('Why?'), call)), mail: mail([toolResult('a')]) })
      .then('take-in')
  })

  it('in the inbox, and the model has paused: it stays there until the model has continued', () => {
    starting()
      .when({
        type: 'found',
        now: nowOf(given(user('Why?'), assistant('Wait.', pause))),
        mail: mail('And line 60?'),
      })
      .then('enter')
  })

  it('just before the turn ends: it is answered by the same turn', () => {
    given(user('Why?'))
      .with({ reply: replyAt(2) })
      .when({
        type: 'inbox-checked',
        ending: { reply: replyAt(2), mail: mail('And?'), now: nowOf(given(user('Why?'), assistant('So.'))) },
      })
      .then('take-in')
      .when({ type: 'taken-in' })
      .then('look')
      .when(...found(user('Why?'), assistant('So.', stop), user('And?')))
      .reads(2)
      .then({ type: 'ask-model', deferred: undefined })
  })

  it('while the model replies: the reply comes first, and the turn answers the message', () => {
    given(user('Why?'))
      .when({ type: 'answered', reply: replyAt(2), isFollowed: true, asked: nowOf(given(user('Why?'))) })
      .then('look')
  })

  it('and interrupts the model: it answers both messages', () => {
    given(user('Why?'))
      .when({ type: 'interrupted' }, ...found(user('Why?'), user('And?')))
      .then('ask-model')
  })

  it('while tools run: the message is moved to after their results', () => {
    given(user('Why?'), call, user('And?'), user([toolResult('a')]))
      .with({ reply: calling })
      .reads(2)
      .then({ type: 'move-back', results: [{ role: 'user' }], deferred: { said: [{ role: 'user' }] } })
  })

  it('while calls wait: they are given up if they have waited', () => {
    const rule = given(user('Why?'), call, user('Never mind.')).reads(2)
    rule.then({ type: 'recall-calls', open: [{ use: 2 }] })
    rule
      .when({ type: 'learned', findings: { haveWaited: true } })
      .then({ type: 'answer-calls', deferred: { said: [{ role: 'user' }] } })
    rule.when({ type: 'learned', findings: { haveWaited: false } }).then('ask-model')
  })

  it('together with the results of all open calls: the model is called at once', () => {
    given(user('Why?'), call, user([text('Here.'), toolResult('a')]))
      .with({ reply: calling })
      .reads(2)
      .then({ type: 'ask-model', deferred: undefined })
  })

  it('after a paused reply: the message waits until the model has continued', () => {
    given(user('Why?'), assistant([text('Wait.')], pause), user('And?'))
      .with({ reply: replyAt(2, 'Wait.', pause), isFollowed: true })
      .reads(2)
      .then({ type: 'ask-model', deferred: { said: [{ role: 'user' }], before: { at: 2 } } })
  })

  it('after results, and a server tool has not answered: the message waits for the next reply', () => {
    const both = assistant([search, toolUse('a')], { stopReason: 'tool_use' })
    given(user('Why?'), both, user([toolResult('a')]), user('And?'))
      .with({ reply: replyAt(2, [search, toolUse('a')], { stopReason: 'tool_use' }) })
      .reads(3)
      .then({ type: 'ask-model', deferred: { said: [{ role: 'user' }], before: { at: 3 } } })
  })

  const configuration = { model: 'a', parameters: { max_tokens: 8_192 } }

  it('and configures something: the message is moved to after the configuration before the request', () => {
    const both = assistant([search, toolUse('a')], { stopReason: 'tool_use' })
    given(user('Why?'), both, user([toolResult('a')]), user('And?'), configured(configuration))
      .with({ reply: replyAt(2, [search, toolUse('a')], { stopReason: 'tool_use' }) })
      .reads(3)
      .then({ type: 'move-back', results: [] })
  })
})

describe('what happens when others give the conversation a turn', () => {
  const done = nowOf(given(user('Why?'), assistant('So.', stop)))

  it('and have answered while this one waited: it ends with their reply', () => {
    starting()
      .when(...found(user('Why?')))
      .when({ type: 'learned', findings: { now: done, claim: 'waited' } })
      .then({ type: 'finish', reply: { position: 2 }, now: { at: 2 } })
  })

  it('and have failed: it continues', () => {
    starting()
      .when(...found(user('Why?')))
      .when({ type: 'learned', findings: { claim: 'waited' } })
      .then('open-account')
  })

  it('because they took it over, and have answered: it ends with their reply and claims nothing', () => {
    starting()
      .with({ course: { ...newCourse, losses: 1 } })
      .when({ type: 'found', now: done, mail: [] })
      .then({ type: 'finish', reply: { position: 2 } })
  })

  it('or write to it before this one has written: it reads the log again', () => {
    given(user('Why?')).when({ type: 'outdated' }).then('look')
  })
})

describe('what happens when the budget is spent', () => {
  const failed = [{ error: 'ModelFailed', message: 'overloaded' }]

  it('the model is not called', () => {
    given(user('Why?'))
      .by({ budget: { calls: 1 } })
      .when({ type: 'spent', entry: { type: 'reply', origin: {} } })
      .then({ type: 'fail', error: { _tag: 'BudgetSpent', of: 'calls' } })
  })

  it('by failed calls: neither', () => {
    given(user('Why?'))
      .by({ budget: { calls: 1 } })
      .when({ type: 'calls-failed', calls: failed })
      .then({ type: 'fail', error: { _tag: 'BudgetSpent' } })
  })

  it('open calls are answered all the same', () => {
    given(user('Why?'), call)
      .by({ budget: { calls: 1 } })
      .when({ type: 'spent', entry: { type: 'reply', origin: {} } })
      .then('answer-calls')
  })

  it('failed calls count once, in the reply that records them', () => {
    const { state } = given(user('Why?')).when({ type: 'calls-failed', calls: failed })
    expect(totalsOf(state)).toMatchObject({ retried: 1, usage: { calls: 1 } })
    const recorded = [
      { type: 'failures-recorded', except: 0 },
      { type: 'spent', entry: { type: 'reply', origin: { failed } } },
    ] as const
    expect(totalsOf(recorded.reduce(evolveTurn, state))).toMatchObject({ retried: 1, usage: { calls: 2 } })
  })
})

describe('what happens when a step is complete', () => {
  const log = [user('Why?'), call, user([toolResult('a')])] as const
  const asked = nowOf(given(user('Why?')))
  const answered = { type: 'answered', reply: calling, isFollowed: false, asked } as const

  it('is shown to onStep and stopWhen, with its calls and results', () => {
    given(user('Why?'))
      .by({ stopWhen: ['run'] })
      .when(answered, ...found(...log))
      .then({ type: 'examine-step', step: { calls: [{ id: 'a' }], results: [{ tool_use_id: 'a' }] } })
  })

  it('is not shown before its calls have results', () => {
    given(user('Why?'))
      .by({ onStep: () => {} })
      .when(answered, ...found(user('Why?'), call))
      .then('answer-calls')
  })

  it('and stopWhen applies: the turn ends', () => {
    given(user('Why?'))
      .by({ stopWhen: ['run'] })
      .when(answered, ...found(...log), { type: 'step-examined', stopped: 'stop-when' })
      .then({ type: 'check-inbox', reply: { position: 2 } })
  })

  it('and stopWhen does not apply: the model is called again', () => {
    given(user('Why?'))
      .by({ stopWhen: ['other'] })
      .when(answered, ...found(...log), { type: 'step-examined', stopped: undefined })
      .then('ask-model')
  })

  it('and stopWhen applies, but the user has said something: the turn answers it', () => {
    given(user('Why?'))
      .by({ stopWhen: ['run'] })
      .when(answered, ...found(...log, user('And?')))
      .reads(3)
      .when({ type: 'step-examined', stopped: 'stop-when' })
      .then('ask-model')
  })

  it('and its calls were forced: it is examined, as the turn may have to end with tool-choice', () => {
    const rule = given(user('Why?')).by({ parameters: { tool_choice: { type: 'any' } } })
    const { state } = rule.when({ ...answered, asked: nowOf(rule) })
    expect(state.unexamined).toEqual({ position: 2, isForced: true })
  })

  it('by a turn that neither looks at steps nor forces calls: nothing is shown', () => {
    for (const type of ['auto', 'none']) {
      const rule = given(user('Why?')).by({ parameters: { tool_choice: { type } } })
      expect(rule.when({ ...answered, asked: nowOf(rule) }).state.unexamined).toBeUndefined()
    }
  })

  it('prepareStep is asked for the settings of the next call, and again for the one after it', () => {
    const rule = given(user('Why?')).by({ prepareStep: () => undefined })
    rule.then({ type: 'prepare-step', step: { step: 1 } })
    const prepared = rule.when({ type: 'step-prepared', settings: rule.state.settings })
    prepared.then('look')
    prepared.when(...found(user('Why?'))).then('ask-model')
    prepared.when(answered, ...found(...log)).then({ type: 'prepare-step' })
  })

  it('prepareStep is not asked once the budget is spent', () => {
    given(user('Why?'))
      .by({ prepareStep: () => undefined, budget: { calls: 1 } })
      .when({ type: 'spent', entry: { type: 'reply', origin: {} } })
      .then({ type: 'fail', error: { _tag: 'BudgetSpent' } })
  })
})

describe('what happens when the context is too large', () => {
  const context = { window: 4_000, reserved: 100 }

  it('is condensed', () => {
    given(...long)
      .by({ context })
      .then({
        type: 'fit',
        plan: { type: 'condense' },
        policy: { options: { canCondense: true } },
      })
  })

  it('is truncated if no summaries are wanted', () => {
    given(...long)
      .by({ context, summarizer: false })
      .then({ type: 'fit', plan: { type: 'truncate' } })
  })

  it('is truncated once a summary has failed, and the result says why', () => {
    const error = { _tag: 'SummaryFailed', message: 'nothing visible', reason: 'empty' } as const
    const rule = given(...long)
      .by({ context })
      .when({ type: 'not-condensed', error }, ...found(...long))
    rule.then({ type: 'fit', plan: { type: 'truncate' } })
    expect(rule.state.course).toMatchObject({
      condenseFailed: error,
      unrecordedCondense: { error: 'SummaryFailed', window: 4_000 },
    })
  })

  it('and nothing may be hidden: the turn fails', () => {
    given(user(words.repeat(12)))
      .by({ context })
      .then({ type: 'fail', error: { _tag: 'ContextTooLarge' } })
  })

  it('no summary is requested for a turn that has nothing to answer', () => {
    given(...long, assistant('So.', stop))
      .by({ context })
      .then({ type: 'fail', error: { _tag: 'NothingToAnswer' } })
  })
})

describe('what happens when the API refuses the context as too long', () => {
  const error: ContextExceeded = {
    _tag: 'ContextExceeded',
    message: '9000 tokens > 8000 maximum',
    status: 400,
  }
  it('is made smaller, by what the API has counted', () => {
    given(...long)
      .by({ summarizer: false })
      .when({ type: 'refused', error, digest: 'd' }, ...found(...long))
      .then({ type: 'fit', policy: { options: { refused: { tokens: 9000, maximum: 8000 } } } })
  })

  it('the same request is never sent twice', () => {
    const rule = given(...long).by({ summarizer: false })
    const asking = nextAction(rule.state)
    const digest = asking.type === 'ask-model' ? digestOf(asking.prepared.request) : ''
    rule.when({ type: 'refused', error, digest }, { type: 'fitted' }, ...found(...long)).then('fit')
    rule
      .when({ type: 'refused', error, digest: 'other' }, { type: 'fitted' }, ...found(...long))
      .then('ask-model')
  })

  it('and nothing may be hidden: the turn fails with the words of the API', () => {
    const { state } = given(user('Why?')).when(
      { type: 'refused', error, digest: 'd' },
      ...found(user('Why?')),
    )
    expect(nextAction(state)).toMatchObject({
      type: 'fail',
      error: { _tag: 'ContextTooLarge', message: expect.stringContaining('9000 tokens > 8000') },
    })
  })

  it('a recorded reply ends the matter', () => {
    given(user('Why?'))
      .when(
        { type: 'refused', error, digest: 'd' },
        { type: 'answered', reply: calling, isFollowed: false, asked: nowOf(given(user('Why?'))) },
        ...found(user('Why?'), call, user([toolResult('a')])),
      )
      .then('ask-model')
  })
})

describe('what happens when the turn is aborted', () => {
  const aborted: ModelAborted = { _tag: 'ModelAborted', message: 'aborted' }

  it('the model is not called', () => {
    given(user('Why?')).with({ aborted }).then({ type: 'fail', error: aborted })
  })

  it('open calls still get their results', () => {
    given(user('Why?'), call).with({ aborted }).then('answer-calls')
  })

  it('a turn that has nothing left to do ends as it would have', () => {
    given(user('Why?'), assistant('So.', stop))
      .with({ aborted, reply: replyAt(2) })
      .then('check-inbox')
  })
})

describe('what happens when somebody rewinds', () => {
  it('past the reply that the turn has recorded: it ends with that reply', () => {
    given(user('Why?'))
      .with({ reply: replyAt(2) })
      .then({ type: 'check-inbox', reply: { position: 2 } })
  })

  it('past messages that the turn still had to answer: it ends with its last reply', () => {
    given(user('Why?'), assistant('So.', stop))
      .with({ reply: replyAt(2), isFollowed: true })
      .reads(2)
      .then({ type: 'check-inbox', reply: { position: 2 } })
  })
})

describe('the decision', () => {
  const source = readFileSync(new URL('../../../src/agent/turn/next-action.ts', import.meta.url), 'utf8')

  it('waits for nothing, reads no clock and knows no store', () => {
    expect(source).not.toMatch(
      /\bawait\b|\basync\b|yield|Date|performance|ConversationHandle|EventStore|\blet\b/,
    )
  })

  it('is read on two pages', () => {
    const [whole = ''] = /^export const nextAction =.*?^}/ms.exec(source) ?? []
    expect(whole.split('\n').length).toBeLessThanOrEqual(120)
  })
})
