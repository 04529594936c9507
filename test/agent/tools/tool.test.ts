import * as fc from 'fast-check'
import * as E from 'fp-ts/lib/Either.js'
import { setTimeout as sleep } from 'node:timers/promises'
import * as v from 'valibot'
import { describe, expect, it, test } from 'vitest'
import { z } from 'zod'
import * as mini from 'zod/mini'
import { checkEditedInput } from '../../../src/agent/tools/edited-input.ts'
import type { ToolContext } from '../../../src/agent/tools/settings.ts'
import type { StandardJsonSchema, StandardSchema } from '../../../src/agent/tools/standard-schema.ts'
import type { Tool } from '../../../src/agent/tools/tool.ts'
import { type AnyBlock, type Block, isBlock } from '../../../src/events/blocks.ts'
import { isFields } from '../../../src/events/json.ts'
import { resultReader, tool } from '../../../src/index.ts'
import { text, toolUse } from '../../support/log.ts'
import { runs } from '../../support/runs.ts'
import { type Said, scene, toolContext, yes } from '../../support/turn-scene.ts'

const call = (name: string, input: unknown = {}, id = 'a'): AnyBlock => ({ ...toolUse(id), name, input })
const calls = (...content: readonly AnyBlock[]): Said => ({ content })

const weather = tool({
  name: 'weather',
  description: 'Says the weather.',
  input: z.object({ city: z.string(), days: z.int().max(7).default(1) }),
  run: ({ city, days }) => `${city}: ${days} days of sun.`,
})

/** The results in the last request of a scene. */
const resultsIn = (body: { readonly messages: readonly { readonly content: unknown }[] } | undefined) =>
  (body?.messages ?? [])
    .flatMap(({ content }) => (Array.isArray(content) ? (content as readonly Block[]) : []))
    .filter((block) => isBlock(block, 'tool_result'))

/** What a model gets that calls these tools once, and what they were. */
const answered = async (tools: readonly object[], ...content: readonly AnyBlock[]) => {
  const { api, turn } = await scene([calls(...content), yes])
  await turn({ tools })
  expect(api.requests.map(({ status }) => status)).toEqual([200, 200])
  return resultsIn(api.requests[1]?.body).map(({ content: shown, is_error }) => ({ shown, is_error }))
}

describe('a tool with a schema', () => {
  it('is a definition for the model and a function, in one array', async () => {
    const { api, chat, turn } = await scene([calls(call('weather', { city: 'Bern' })), yes])
    await turn({ tools: [weather], cache: false })
    const input_schema = {
      type: 'object',
      properties: {
        city: { type: 'string' },
        days: { default: 1, type: 'integer', minimum: Number.MIN_SAFE_INTEGER, maximum: 7 },
      },
      required: ['city'],
    }
    const definition = { name: 'weather', description: 'Says the weather.', input_schema }
    expect(api.requests[0]?.body).toMatchObject({ tools: [definition] })
    expect(resultsIn(api.requests[1]?.body)).toMatchObject([{ content: 'Bern: 1 days of sun.' }])
    const configured = []
    for await (const event of chat.events())
      if (event.type === 'Configured') configured.push(event.data.tools)
    expect(configured).toEqual([[definition]])
  })

  it('may stand beside definitions of the API, functions in run, and a reader of results', async () => {
    const { api, chat, turn } = await scene([
      calls(call('weather', { city: 'Bern' }), call('plain', {}, 'b')),
      yes,
    ])
    const search = { type: 'web_search_20250305', name: 'web_search' }
    const plain = { name: 'plain', input_schema: { type: 'object' } }
    await turn({ tools: [search, weather, plain, resultReader(chat)], run: { plain: () => 'Plain.' } })
    expect(api.requests[0]?.body).toMatchObject({
      tools: [search, { name: 'weather' }, { name: 'plain' }, { name: 'read_result' }],
    })
    expect(resultsIn(api.requests[1]?.body).map(({ content }) => content)).toEqual([
      'Bern: 1 days of sun.',
      'Plain.',
    ])
  })

  it('is the same to the byte whenever it is made of the same schema: nothing is configured again', async () => {
    const { chat, turn } = await scene([yes])
    const make = (): Tool =>
      tool({
        name: 'a',
        description: 'A.',
        input: z.object({ b: z.string(), a: z.array(z.int()) }),
        run: () => '',
      })
    await turn({ tools: [make()] })
    await chat.append({ role: 'user', content: 'And?' })
    await turn({ tools: [make()] })
    expect(JSON.stringify(make().definition)).toBe(JSON.stringify(make().definition))
    const timeline = await chat.timeline()
    expect(timeline.filter(({ event }) => event.type === 'Configured')).toHaveLength(1)
  })

  it('gets what its schema makes of the input', async () => {
    const at = tool({
      name: 'at',
      description: 'Says when.',
      input: z.object({ at: z.iso.datetime().transform((when) => new Date(when)) }),
      run: ({ at: when }) => when.getUTCFullYear(),
    })
    expect(await at.run({ at: '2026-11-22T12:00:00Z' }, toolContext('at'))).toBe(2026)
  })
})

describe('an input that does not fit', () => {
  it('is named with its path and in plain words, and the model may correct itself', async () => {
    const { api, turn } = await scene([
      calls(call('weather', { city: 5, days: 9 })),
      calls(call('weather', { city: 'Bern' }, 'b')),
      yes,
    ])
    await turn({ tools: [weather] })
    const [wrong, right] = resultsIn(api.requests[2]?.body)
    expect(wrong).toMatchObject({ is_error: true })
    expect(wrong?.content).toBe(
      [
        'InvalidInput: the input does not fit the schema of weather, so nothing was run:',
        '- city: Invalid input: expected string, received number',
        '- days: Too big: expected number to be <=7',
        'Correct it and call weather again.',
      ].join('\n'),
    )
    expect(right?.content).toBe('Bern: 1 days of sun.')
  })

  it.each([
    [
      'a field of an element',
      { list: [{ n: 1 }, { n: 'x' }] },
      '- list[1].n: Invalid input: expected number, received string',
    ],
    [
      'every way of a union',
      { either: { n: 'x' } },
      '- either: Invalid input: expected string, received object, or n: Invalid input: expected number, received string',
    ],
    ['a field that there is not', { other: 1 }, '- Unrecognized key: "other"'],
  ])('tells of %s', async (_, input, line) => {
    const part = z.object({ n: z.number() })
    const schema = z.strictObject({
      list: z.array(part).optional(),
      either: z.union([z.string(), part]).optional(),
    })
    const of = tool({ name: 'of', description: 'Of.', input: schema, run: () => 'Ran.' })
    const [result] = await answered([of], call('of', input))
    expect(result?.shown).toContain(`\n${line}\n`)
  })

  it('tells of ten problems at most', async () => {
    const of = tool({
      name: 'of',
      description: 'Of.',
      input: z.object({ list: z.array(z.string()) }),
      run: () => '',
    })
    const [result] = await answered([of], call('of', { list: Array.from({ length: 50 }, (__, n) => n) }))
    expect(result?.shown).toMatch(/^(?:.*\n){11}.*$/)
  })

  it('never reaches the function, and every other does, with the schema’s output', async () => {
    const schema = z.object({
      a: z.string().min(2),
      b: z.array(z.int()).optional(),
      c: z.enum(['x', 'y']).default('x'),
    })
    const got: unknown[] = []
    const of = tool({ name: 'of', description: 'Of.', input: schema, run: (input) => got.push(input) })
    const near = fc.record(
      {
        a: fc.oneof(fc.string(), fc.integer()),
        b: fc.oneof(fc.array(fc.integer()), fc.array(fc.double())),
        c: fc.constantFrom('x', 'y', 'z', null),
      },
      { requiredKeys: [] },
    )
    const fitting = fc.record(
      { a: fc.string({ minLength: 2 }), b: fc.array(fc.integer()), c: fc.constantFrom('x', 'y') },
      { requiredKeys: ['a'] },
    )
    const seen = { fit: 0, unfit: 0 }
    await fc.assert(
      fc.asyncProperty(fc.oneof(near, fitting, fc.jsonValue()), async (input) => {
        got.length = 0
        const ran = await Promise.resolve(of.run(input, toolContext('of'))).then(
          () => true,
          () => false,
        )
        const { data, success } = schema.safeParse(input)
        seen[success ? 'fit' : 'unfit']++
        expect([ran, got]).toEqual([success, success ? [data] : []])
      }),
      { numRuns: runs(500) },
    )
    expect(Math.min(seen.fit, seen.unfit)).toBeGreaterThan(0)
  })

  it('in turns with random inputs never reaches the function', async () => {
    const got: unknown[] = []
    const input = z.object({ a: z.string() })
    const of = tool({ name: 'of', description: 'Of.', input, run: (given) => got.push(given) })
    const inputs = fc.sample(
      fc.dictionary(fc.constantFrom('a', 'b'), fc.jsonValue(), { maxKeys: 2 }),
      runs(60),
    )
    const results = await answered([of], ...inputs.map((each, n) => call('of', each, `c${n}`)))
    const fits = inputs.map((each) => input.safeParse(each).success)
    expect(got).toHaveLength(fits.filter(Boolean).length)
    expect(results.map(({ is_error }) => is_error !== true)).toEqual(fits)
  })
})

describe('the schema of a tool', () => {
  const options = { name: 'of', description: 'Of.', run: () => '' }

  it('may be of zod/mini', () => {
    const { definition } = tool({ ...options, input: mini.object({ a: mini.string() }) })
    expect(definition['input_schema']).toEqual({
      type: 'object',
      properties: { a: { type: 'string' } },
      required: ['a'],
    })
  })

  it('may be of a library that makes no JSON schema, if that is given', async () => {
    const input = v.object({ a: v.object({ b: v.number() }) })
    expect(() => tool({ ...options, input })).toThrow(
      'input: has no JSON schema (TypeError: valibot does not provide one): give one as inputSchema',
    )
    const inputSchema = { type: 'object', properties: { a: { type: 'object' } } }
    const of = tool({ ...options, input, inputSchema, run: ({ a }) => a.b })
    expect(of.definition['input_schema']).toEqual(inputSchema)
    expect(
      await answered([of], call('of', { a: { b: 1 } }), call('of', { a: { b: '1' } }, 'b')),
    ).toMatchObject([
      { shown: '1' },
      {
        is_error: true,
        shown: expect.stringContaining('- a.b: Invalid type: Expected number but received "1"'),
      },
    ])
  })

  it('is asked for its JSON schema as the standard says, and may check at its leisure', async () => {
    const asked: unknown[] = []
    const jsonSchema = {
      input: (how: unknown) => (
        asked.push(how),
        { $schema: 'https://json-schema.org/draft/2020-12/schema', type: 'object' }
      ),
    }
    const validate = async (value: unknown) => (await sleep(1), { value: [value] })
    const input: StandardJsonSchema & StandardSchema<unknown, unknown[]> = {
      '~standard': { version: 1, vendor: 'own', validate, jsonSchema },
    }
    const of = tool({ ...options, input, run: (all) => all.length })
    expect([asked, of.definition['input_schema']]).toEqual([
      [{ target: 'draft-2020-12' }],
      { type: 'object' },
    ])
    expect(await of.run({}, toolContext('of'))).toBe(1)
  })

  it.each([
    ['no schema', { ...options }, 'input: must be a Zod schema'],
    ['a JSON schema', { ...options, input: { type: 'object' } }, 'input: must be a Zod schema'],
    ['a text', { ...options, input: z.string() }, 'input: must be the schema of an object'],
    [
      'a union at the top',
      { ...options, input: z.union([z.object({ a: z.string() }), z.object({})]) },
      'input: must be the schema of an object',
    ],
    [
      'a union beside a type',
      { ...options, input: z.object({}), inputSchema: { type: 'object', oneOf: [] } },
      'inputSchema: must be the schema of an object',
    ],
    [
      'what JSON Schema cannot say',
      { ...options, input: z.object({ at: z.date() }) },
      'input: has no JSON schema (Error: Date cannot be represented in JSON Schema): give one as inputSchema',
    ],
    [
      'no JSON',
      { ...options, input: z.object({}), inputSchema: { type: 'object', a: () => 1 } },
      'inputSchema: is not a JSON schema: a: ',
    ],
    [
      'a name that the API refuses',
      { ...options, input: z.object({}), name: 'a.b' },
      'name: must be the name of a tool',
    ],
    ['no description', { ...options, input: z.object({}), description: '' }, 'description: tell the model'],
    ['no function', { ...options, input: z.object({}), run: 'echo' }, 'run: must be the function'],
    ['an unknown effect', { ...options, input: z.object({}), effect: 'some' }, 'effect: '],
    ['a timeout of nothing', { ...options, input: z.object({}), timeout: 0 }, 'timeout: '],
    ['a misspelt option', { ...options, input: z.object({}), descripton: 'Of.' }, 'descripton: '],
  ])('is refused at once if it is %s', (_, given, message) => {
    const make = (): Tool => tool(given as never)
    expect(make).toThrow(
      expect.objectContaining({ _tag: 'InvalidInput', message: expect.stringContaining(message) }),
    )
  })
})

describe('tools with the same name', () => {
  it.each([
    ['two tools', [weather, weather], {}, 'tools[1]: has the same name as another tool, weather'],
    [
      'a tool and a definition',
      [{ name: 'weather', input_schema: { type: 'object' } }, weather],
      {},
      'tools[1]: has the same name as another tool, weather',
    ],
    [
      'two definitions',
      ['a', 'b', 'a'].map((name) => ({ name, input_schema: { type: 'object' } })),
      {},
      'tools[2]: has the same name as another tool, a',
    ],
    ['a tool and a function', [weather], { weather: () => '' }, 'run.weather: belongs to a tool'],
  ])('are refused before anything is written: %s', async (_, tools, run, message) => {
    const { api, chat, turn } = await scene([yes])
    await expect(turn({ tools, run })).rejects.toMatchObject({
      _tag: 'InvalidInput',
      message: expect.stringContaining(message),
    })
    expect([api.requests.length, await chat.position()]).toEqual([0, 0])
  })

  it('are no reason to run away from an array that is none', async () => {
    const { turn } = await scene([yes])
    const holes = [weather]
    holes.length = 4_000_000_000
    for (const [tools, run, path] of [
      [holes, {}, 'tools[1]'],
      [[weather, 5], {}, 'tools[1]'],
      [[weather], null, 'run'],
      [[weather], 5, 'run'],
      [{ 0: weather }, {}, 'tools'],
    ] as const)
      await expect(turn({ tools, run } as object)).rejects.toMatchObject({
        _tag: 'InvalidInput',
        path: expect.stringContaining(path),
      })
  })
})

describe('whether a call has to be approved', () => {
  const input = z.object({ path: z.string().transform((path) => path.length) })
  const options = { name: 'rm', description: 'Removes.', input, run: () => '' }
  const asks = async ({ approve }: Tool, path: unknown): Promise<unknown> =>
    typeof approve === 'function' ? approve({ id: 'a', name: 'rm', input: { path } }) : approve

  it('is asked only for an input that fits, and of what the schema makes of it', async () => {
    expect(await asks(tool(options), '/tmp')).toBeUndefined()
    expect(await asks(tool({ ...options, approve: false }), '/tmp')).toBeUndefined()
    expect(await asks(tool({ ...options, approve: true }), '/tmp')).toBe(true)
    expect(await asks(tool({ ...options, approve: true }), 5)).toBe(false)
    const long = tool({ ...options, approve: async ({ input: { path } }) => path > 4 })
    expect([await asks(long, '/tmp'), await asks(long, '/tmp/a'), await asks(long, 5)]).toEqual([
      false,
      true,
      false,
    ])
  })

  it('keeps it from running until somebody has approved it', async () => {
    const ran: unknown[] = []
    const run = (given: unknown): unknown => ran.push(given)
    const asked = tool({ ...options, approve: ({ input: { path } }) => path > 4, run })
    const { turn } = await scene([
      calls(call('rm', { path: '/tmp' }), call('rm', { path: '/tmp/a' }, 'b')),
      yes,
    ])
    expect(await turn({ tools: [asked] })).toMatchObject({ waiting: [{ call: 'b' }] })
    expect(ran).toEqual([{ path: 4 }])
  })

  it('is not answered no by a check that failed itself', async () => {
    const broken = z.object({
      path: z.string().refine(() => {
        throw new Error('out of cheese')
      }),
    })
    await expect(asks(tool({ ...options, input: broken, approve: true }), '/tmp')).rejects.toThrow(
      'out of cheese',
    )
  })
})

describe('a call that takes too long', () => {
  const heeding = (signal: AbortSignal): Promise<unknown> =>
    new Promise((_, reject) => {
      signal.addEventListener('abort', () => reject(new Error('I was told to stop.')), { once: true })
    })
  const deaf = (): Promise<unknown> => new Promise(() => {})
  const shown = [
    {
      shown:
        'It took longer than 20 ms and was given up. It was cut off; whether it took effect is not known.',
      is_error: true,
    },
  ]

  it.each([
    ['heeds its signal', heeding],
    ['does not', deaf],
  ])('is aborted, and its result says so, whether the tool %s', async (_, wait) => {
    const slow = tool({
      name: 'slow',
      description: 'Is slow.',
      input: z.object({}),
      timeout: 20,
      run: (__, { signal }) => wait(signal),
    })
    expect(await answered([slow], call('slow'))).toEqual(shown)
    // A function that begins to wait before the turn does.
    const definition = { name: 'slow', input_schema: { type: 'object' } }
    const run = (__: unknown, { signal }: ToolContext): unknown => wait(signal)
    expect(await answered([{ definition, run, timeout: 20 }], call('slow'))).toEqual(shown)
  })
})

describe('what a tool tells of its progress', () => {
  it('reaches whoever follows the turn, and not the log', async () => {
    const input = z.object({})
    const steps = tool({
      name: 'steps',
      description: 'Goes in steps.',
      input,
      run: (_, { progress }) => (progress('half way'), progress('almost'), 'Done.'),
    })
    const { chat, turn } = await scene([calls(call('steps')), { content: [text('Yes.')] }])
    const told: unknown[] = []
    await turn({ tools: [steps], onEvent: (event) => event.type === 'tool-progress' && told.push(event) })
    const event = { type: 'tool-progress', call: 'a', tool: 'steps' }
    expect(told).toEqual([
      { ...event, text: 'half way' },
      { ...event, text: 'almost' },
    ])
    for await (const stored of chat.stored()) expect(JSON.stringify(stored)).not.toContain('half way')
  })
})

describe('a schema', () => {
  /** A tool that somebody has to approve, whose schema fills in, changes and counts. */
  const counted = async (more: z.ZodRawShape = {}) => {
    let applied = 0
    const seen: unknown[] = []
    const made = tool({
      name: 'pay',
      description: 'Pays.',
      input: z.object({
        to: z.string().transform((to) => {
          applied++
          return to.trim().toUpperCase()
        }),
        key: z.string().default(() => `key-${applied}`),
        euros: z.int().max(10).default(1),
        ...more,
      }),
      approve: (asked) => {
        seen.push(asked.input)
        return true
      },
      run: (input) => {
        seen.push(input)
        return 'paid'
      },
    })
    const { api, chat, turn } = await scene([calls(call('pay', { to: ' ann ' }, 'pay')), yes])
    const { waiting } = await turn({ tools: [made] })
    const give = () => turn({ tools: [made] })
    return { api, chat, give, waiting, seen, applied: () => applied }
  }

  it('is applied once: what waits, what is approved and what is run are the same', async () => {
    const { chat, give, waiting, seen, applied } = await counted()
    const input = { to: 'ANN', key: 'key-1', euros: 1 }
    expect(waiting).toMatchObject([{ input }])
    expect(await chat.waiting()).toMatchObject([{ input }])
    await chat.approve('pay', { by: 'ann' })
    await give()
    expect(seen).toEqual([input, input])
    expect(applied()).toBe(1)
  })

  it('that makes what is no JSON is applied again when the call is run', async () => {
    const at = z.iso
      .datetime()
      .default('2026-11-22T12:00:00Z')
      .transform((when) => new Date(when))
    const { chat, give, waiting, seen } = await counted({ at })
    expect(waiting).toMatchObject([{ input: { to: ' ann ' } }])
    await chat.approve('pay', { by: 'ann' })
    await give()
    expect(seen.at(-1)).toMatchObject({ to: 'ANN', at: new Date('2026-11-22T12:00:00Z') })
  })

  it('is applied once, too, to a call that runs at once', async () => {
    let applied = 0
    const look = tool({
      name: 'look',
      description: 'Looks.',
      input: z.object({ path: z.string().transform((path) => `${path}${++applied}`) }),
      approve: ({ input }) => input.path !== 'a1',
      run: ({ path }) => path,
    })
    expect(await answered([look], call('look', { path: 'a' }))).toEqual([
      { shown: 'a1', is_error: undefined },
    ])
  })

  it.each([
    [{ to: 'bob', euros: 11 }, 'input.euros'],
    [{ to: 5 }, 'input.to'],
    [{}, 'input.to'],
  ])('refuses the edit %j as soon as it is decided: nothing is recorded', async (input, path) => {
    const { chat, waiting } = await counted()
    await expect(chat.approve('pay', { by: 'bob', input })).rejects.toMatchObject({
      _tag: 'InvalidInput',
      path,
      message: expect.stringContaining('according to the schema of pay'),
    })
    expect(await chat.waiting()).toMatchObject(waiting)
  })

  it('is applied to an edit once, and the model is told of that', async () => {
    const { api, chat, give, seen, applied } = await counted()
    await chat.approve('pay', { by: 'bob', input: { to: 'bob', euros: 2 } })
    await give()
    expect(seen.at(-1)).toMatchObject({ to: 'BOB', euros: 2 })
    expect(applied()).toBe(2)
    expect(resultsIn(api.requests[1]?.body)[0]?.content).toBe(
      'bob has changed the input. The tool was run with {"to":"bob","euros":2}\n\npaid',
    )
  })

  it('is not in the way of an edit where it says more than is checked', async () => {
    const { chat, turn } = await scene([calls(call('plain', {}, 'plain')), yes])
    const input_schema = { type: 'object', if: { required: ['a'] }, then: { required: ['b'] } }
    const run = { plain: { run: () => 'done', approve: true } }
    await turn({ tools: [{ name: 'plain', input_schema }], run })
    await chat.approve('plain', { by: 'bob', input: { a: 1 } })
    expect(await turn({ tools: [{ name: 'plain', input_schema }], run })).toMatchObject({ ended: 'stop' })
  })
})

describe('an edited input', () => {
  it.each([
    ['fails', { run: () => Promise.reject(new TypeError('no money')) }, 'TypeError: no money'],
    ['takes too long', { run: () => new Promise(() => {}), timeout: 5 }, 'longer than 5 ms'],
  ])('is said to the model also if the tool %s', async (_, settings, what) => {
    const { api, chat, turn } = await scene([calls(call('pay', { euros: 5 }, 'pay')), yes])
    const tools = [{ name: 'pay', input_schema: { type: 'object' } }]
    const run = { pay: { ...settings, approve: true } }
    await turn({ tools, run })
    await chat.approve('pay', { by: 'bob', input: { euros: 3 } })
    await turn({ tools, run })
    const [result] = resultsIn(api.requests[1]?.body)
    expect(result?.content).toContain('bob has changed the input. The tool was run with {"euros":3}\n\n')
    expect(result?.content).toContain(what)
  })
})

describe('an input that a person has edited', () => {
  const check = (input_schema: unknown, input: { readonly [field: string]: unknown }) =>
    checkEditedInput([{ name: 'other' }, { name: 'pay', input_schema }], 'pay', input)
  const pathOf = (
    input_schema: unknown,
    input: { readonly [field: string]: unknown },
  ): string | undefined => {
    const checked = check(input_schema, input)
    return E.isLeft(checked) ? checked.left.path : undefined
  }

  describe('given the schema of a tool', () => {
    test.each<readonly [string, object, { readonly [field: string]: unknown }, string]>([
      ['a field of another type', { properties: { a: { type: 'string' } } }, { a: 1 }, 'input.a'],
      ['a missing field', { required: ['a'] }, {}, 'input.a'],
      ['a field too many', { additionalProperties: false }, { a: 1 }, 'input.a'],
      ['none of several', { properties: { a: { enum: ['x', 'y'] } } }, { a: 'z' }, 'input.a'],
      ['another constant', { properties: { a: { const: { b: 1 } } } }, { a: { b: 2 } }, 'input.a'],
      ['a number out of bounds', { properties: { a: { maximum: 3 } } }, { a: 4 }, 'input.a'],
      [
        'a number at a bound that is none',
        { properties: { a: { exclusiveMinimum: 3 } } },
        { a: 3 },
        'input.a',
      ],
      ['a text too long', { properties: { a: { maxLength: 1 } } }, { a: 'ab' }, 'input.a'],
      ['a list too short', { properties: { a: { minItems: 1 } } }, { a: [] }, 'input.a'],
      ['an element', { properties: { a: { items: { type: 'integer' } } } }, { a: [1, 1.5] }, 'input.a[1]'],
      [
        'no way of a union',
        { properties: { a: { anyOf: [{ type: 'null' }, { type: 'array' }] } } },
        { a: 1 },
        'input.a',
      ],
      ['a part by reference', { $ref: '#/$defs/x', $defs: { x: { required: ['b'] } } }, {}, 'input.b'],
    ])('%s is refused', (_, schema, input, path) => {
      expect(pathOf({ type: 'object', ...schema }, input)).toBe(path)
    })

    test.each([
      undefined,
      null,
      true,
      'nonsense',
      { type: 'unheard-of' },
      { $ref: '#' },
      { $ref: 'https://example.com/a.json' },
      { allOf: [{ $ref: '#' }, { $ref: '#' }] },
      { properties: { a: { format: 'date-time', pattern: '^(a+)+$' } } },
      { if: { required: ['a'] }, then: { required: ['b'] } },
    ])('%j refuses nothing, and takes no time', (schema) => {
      expect(E.isRight(check(schema, { a: `${'a'.repeat(50)}!` }))).toBe(true)
    })

    test('an emoji is one character, and -0 is 0', () => {
      expect(pathOf({ properties: { a: { maxLength: 1 } } }, { a: '😀' })).toBeUndefined()
      expect(pathOf({ properties: { a: { minimum: 0 } } }, { a: 0 })).toBeUndefined()
    })
  })

  test('whatever a schema of zod takes is taken, and what is of another type is refused', () => {
    const schema = z.object({
      to: z.string().min(1).max(4),
      euros: z.int().min(0).max(9).default(1),
      how: z.enum(['cash', 'card']).optional(),
      lines: z.array(z.union([z.string(), z.object({ n: z.number() })])).max(3),
      more: z.record(z.string(), z.boolean()).nullable(),
    })
    const told = z.toJSONSchema(schema, { io: 'input' })
    const value = fc.oneof(
      fc.string({ maxLength: 6 }),
      fc.integer({ min: -2, max: 12 }),
      fc.constantFrom(null, true, 'cash', 1.5),
      fc.array(fc.oneof(fc.string({ maxLength: 2 }), fc.constant({ n: 1 }), fc.integer()), { maxLength: 4 }),
      fc.dictionary(fc.string({ maxLength: 2 }), fc.boolean(), { maxKeys: 2 }),
    )
    const fields = ['to', 'euros', 'how', 'lines', 'more'] as const
    const input = fc.record(Object.fromEntries(fields.map((field) => [field, value])), { requiredKeys: [] })
    fc.assert(
      fc.property(input, (given) => {
        if (!isFields(given)) return
        expect(E.isRight(check(told, given))).toBe(schema.safeParse(given).success)
      }),
      { numRuns: runs(2_000) },
    )
  })
})
