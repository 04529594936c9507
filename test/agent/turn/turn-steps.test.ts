import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import {
  type NextStep,
  type StepSettings,
  tool,
  type TurnOptions,
  type TurnStep,
} from '../../../src/index.ts'
import type { ApiReply } from '../../../src/testing/messages-api/replies.ts'
import { text, toolUse } from '../../support/log.ts'
import { type Scene, scene, task, yes } from '../../support/turn-scene.ts'

const tools = ['read', 'answer'].map((name) => ({ name, input_schema: { type: 'object' } }))
const run = { read: () => 'its content' }
const calls = (...names: readonly string[]): ApiReply => ({
  content: names.map((name) => ({ ...toolUse(name), id: undefined, name, input: { of: name } })),
})

const typesOf = async ({ chat }: Scene): Promise<readonly string[]> =>
  (await chat.timeline()).map(({ event }) => event.type)
const configurations = async (playing: Scene): Promise<readonly unknown[]> =>
  (await playing.chat.timeline()).flatMap(({ event }) =>
    event.type === 'Configured' ? [event.data.model] : [],
  )
/** Every request that the stand-in refused. */
const refused = ({ api }: Scene) => api.requests.filter(({ status }) => status !== 200)

describe('stopWhen', () => {
  it('ends the turn after a call of a named tool; every call of the reply has a result, and the next turn is valid', async () => {
    const playing = await scene([calls('read', 'answer'), yes])
    const turned = await playing.turn({ tools, run, stopWhen: ['answer'] })
    expect(turned).toMatchObject({
      ended: 'stop-when',
      calls: 1,
      position: 2,
      content: [{ name: 'read' }, { name: 'answer' }],
    })
    expect((await playing.chat.effective()).at(-1)).toMatchObject({
      content: [{ content: 'its content' }, { content: expect.stringContaining('ended') }],
    })
    await playing.chat.append(task)
    expect(await playing.turn({ tools, run, stopWhen: ['answer'] })).toMatchObject({
      ended: 'stop',
      content: [text('Yes.')],
    })
    expect(refused(playing)).toEqual([])
  })

  it('runs a named tool that has a function, and waits for its approval', async () => {
    const playing = await scene([calls('answer'), yes])
    const answer = { run: () => 'sent', approve: true }
    const options = { tools, run: { answer }, stopWhen: ['answer'] }
    const { ended, waiting } = await playing.turn(options)
    expect([ended, waiting]).toMatchObject(['waiting', [{ tool: 'answer' }]])
    await playing.chat.approve(waiting[0]?.call ?? '', { by: 'dana' })
    expect(await playing.turn(options)).toMatchObject({ ended: 'stop-when', calls: 0, position: 2 })
    expect((await playing.chat.effective()).at(-1)).toMatchObject({ content: [{ content: 'sent' }] })
  })

  it('may be a function of the step: of its reply, calls, results and usage; calling turn again continues', async () => {
    const playing = await scene([calls('read'), calls('read'), yes])
    const seen: TurnStep[] = []
    const stopWhen = (step: TurnStep): boolean => {
      seen.push(step)
      return step.number === 2
    }
    expect(await playing.turn({ tools, run, stopWhen })).toMatchObject({
      ended: 'stop-when',
      calls: 2,
      position: 4,
    })
    expect(seen).toMatchObject([
      {
        number: 1,
        reply: { position: 2, stopReason: 'tool_use', model: 'claude-opus-5-5' },
        calls: [{ name: 'read', input: { of: 'read' } }],
        results: [{ type: 'tool_result', content: 'its content' }],
        usage: { output: expect.any(Number) },
        total: { calls: 1 },
      },
      { number: 2, total: { calls: 2 } },
    ])
    expect(await playing.turn({ tools, run, stopWhen: async () => false })).toMatchObject({
      ended: 'stop',
      usage: { calls: 3 },
    })
  })

  it('also ends a turn whose process died between the call and its result', async () => {
    const playing = await scene([yes])
    await playing.chat.append({
      role: 'assistant',
      content: [{ type: 'tool_use', id: 'a', name: 'answer', input: {} }],
    })
    expect(await playing.turn({ tools, stopWhen: ['answer'] })).toMatchObject({
      ended: 'stop-when',
      calls: 0,
      position: 1,
    })
    expect(playing.api.requests).toEqual([])
  })

  it.each([['any'], ['tool']])(
    'is not needed where the model is forced to call (tool_choice %s): the turn ends with the results',
    async (type) => {
      const parameters = { tool_choice: { type, ...(type === 'tool' && { name: 'read' }) } }
      const playing = await scene([calls('read')])
      const options = { tools, run, parameters }
      expect(await playing.turn(options)).toMatchObject({ ended: 'tool-choice', calls: 1 })
      expect((await playing.chat.effective()).at(-1)).toMatchObject({ content: [{ content: 'its content' }] })
      expect(await playing.turn(options)).toMatchObject({
        ended: 'tool-choice',
        calls: 1,
        usage: { calls: 2 },
      })
      expect(await playing.turn({ tools, run: {}, parameters })).toMatchObject({ ended: 'waiting' })
      expect(refused(playing)).toEqual([])
    },
  )
})

describe('prepareStep', () => {
  const models = (...names: readonly (string | undefined)[]) => {
    const asked: NextStep[] = []
    const prepareStep = (next: NextStep): StepSettings | undefined => {
      asked.push(next)
      const model = names[Math.min(next.step, names.length) - 1]
      return model === undefined ? undefined : { model }
    }
    return { asked, prepareStep }
  }

  it('gives settings for the next call; a configuration is recorded where they differ from what is in force, and nowhere else', async () => {
    const [opus, sonnet] = ['claude-opus-5-5', 'claude-sonnet-5-5']
    const playing = await scene([calls('read'), calls('read'), calls('read'), calls('read'), yes])
    const { asked, prepareStep } = models(opus, sonnet, sonnet, undefined, opus)
    await playing.turn({ tools, run, prepareStep })
    expect(playing.api.requests.map(({ body }) => body?.model)).toEqual([opus, sonnet, sonnet, opus, opus])
    expect(await configurations(playing)).toEqual([opus, sonnet, opus])
    expect(asked.map(({ step }) => step)).toEqual([1, 2, 3, 4, 5])
    expect(asked.map(({ usage }) => usage.calls)).toEqual([0, 1, 2, 3, 4])
    expect(asked[1]?.effective.items.at(-1)).toMatchObject({ content: [{ content: 'its content' }] })
    expect(await playing.chat.verifyReceipts()).toMatchObject({ receipts: 5, findings: [] })
  })

  it('goes on in another process where the last one was: its steps are counted, and what it configured stays', async () => {
    const playing = await scene([calls('read'), calls('read'), yes])
    const { prepareStep } = models('claude-sonnet-5-5')
    const options = { tools, run, prepareStep }
    await expect(playing.turn({ ...options, maxCalls: 1 })).rejects.toMatchObject({ _tag: 'TooManyCalls' })
    const { asked, prepareStep: again } = models('claude-sonnet-5-5')
    await playing.turn({ ...options, prepareStep: again })
    expect(asked.map(({ step }) => step)).toEqual([2, 3])
    expect(await configurations(playing)).toEqual(['claude-sonnet-5-5'])
  })

  it('may give tools with their functions, a system prompt and parameters; secrets in these are not recorded', async () => {
    const playing = await scene([calls('read'), calls('look'), yes])
    const look = tool({
      name: 'look',
      description: 'Looks.',
      input: z.object({ of: z.string() }),
      run: ({ of }) => `looked at ${of}`,
    })
    const prepareStep = async ({ step }: NextStep): Promise<StepSettings | undefined> =>
      step === 1
        ? undefined
        : {
            tools: [...tools, look],
            system: 'Look.',
            parameters: { metadata: { password: 'sesame' }, max_tokens: 50 },
          }
    const { ended } = await playing.turn({ tools, run, system: 'Read.', prepareStep })
    expect(ended).toBe('stop')
    const bodies = playing.api.requests.map(({ body }) => body)
    expect(bodies.map((body) => [body?.tools?.length, body?.max_tokens])).toEqual([
      [2, 8_192],
      [3, 50],
      [3, 50],
    ])
    expect(bodies[1]?.['metadata']).toEqual({ password: 'sesame' })
    expect(JSON.stringify(await playing.chat.timeline())).not.toContain('sesame')
    expect(JSON.stringify(await playing.chat.timeline())).toContain('looked at look')
  })

  it.each<readonly [string, object, object]>([
    ['a misspelt field', { modle: 'a' }, { _tag: 'InvalidInput', path: 'prepareStep.modle' }],
    ['another option', { maxCalls: 1 }, { _tag: 'InvalidInput', path: 'prepareStep.maxCalls' }],
    ['no model', { model: '' }, { _tag: 'InvalidInput', path: 'prepareStep.model' }],
    ['a model without a price', { model: 'other' }, { _tag: 'PriceMissing', models: ['other'] }],
  ])('is refused where it gives %s, and nothing is written or sent', async (_, given, error) => {
    const playing = await scene([yes])
    const options = { prepareStep: () => given, budget: { usd: 1 } } satisfies Partial<TurnOptions>
    await expect(playing.turn(options)).rejects.toMatchObject(error)
    expect([await playing.chat.position(), playing.api.requests]).toEqual([0, []])
  })

  it('is called again for a call that the user has interrupted, with what was said', async () => {
    const playing = await scene([{ ...yes, delay: 20 }, yes])
    const { asked, prepareStep } = models('claude-opus-5-5')
    const turned = playing.turn({ prepareStep })
    while (playing.api.requests.length === 0) await sleep(1)
    await playing.chat.say({ role: 'user', content: 'And line 60?' }, { whileBusy: 'interrupt' })
    await turned
    expect(asked.map(({ step, effective }) => [step, effective.items.length])).toEqual([
      [1, 1],
      [1, 2],
    ])
  })
})

describe('onStep', () => {
  it('is called after each step, when it is recorded', async () => {
    const playing = await scene([calls('read'), yes])
    const seen: unknown[] = []
    const onStep = async ({ number, results }: TurnStep): Promise<void> => {
      await sleep(1)
      seen.push([number, results.length, await playing.chat.position()])
    }
    await playing.turn({ tools, run, onStep })
    expect(seen).toEqual([
      [1, 1, 3],
      [2, 0, 4],
    ])
  })

  it.each<readonly [string, Partial<TurnOptions>, readonly string[]]>([
    [
      'onStep',
      { onStep: () => Promise.reject(new RangeError('mine')) },
      ['MessageAppended', 'Configured', 'MessageAppended', 'MessageAppended'],
    ],
    [
      'stopWhen',
      {
        stopWhen: () => {
          throw new RangeError('mine')
        },
      },
      ['MessageAppended', 'Configured', 'MessageAppended', 'MessageAppended'],
    ],
    [
      'prepareStep',
      {
        prepareStep: () => {
          throw new RangeError('mine')
        },
      },
      ['MessageAppended'],
    ],
  ])(
    'what %s throws rejects the turn as itself; the log is whole, and the next turn continues',
    async (_, failing, log) => {
      const playing = await scene([calls('read'), yes])
      const error = await playing.turn({ tools, run, ...failing }).catch((thrown: unknown) => thrown)
      expect(error).toBeInstanceOf(RangeError)
      expect(error).toMatchObject({ message: 'mine' })
      expect(await typesOf(playing)).toEqual(log)
      expect(await playing.turn({ tools, run })).toMatchObject({ ended: 'stop' })
      expect(refused(playing)).toEqual([])
    },
  )
})
