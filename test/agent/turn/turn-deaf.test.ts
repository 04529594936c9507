import { expect, it } from 'vitest'
import type { TurnOptions } from '../../../src/index.ts'
import { failure } from '../../support/either.ts'
import { toolUse } from '../../support/log.ts'
import { scene, type Scene, yes } from '../../support/turn-scene.ts'

const calls = { content: [{ ...toolUse('read'), name: 'read' }] }
const tools = [{ name: 'read', input_schema: { type: 'object' } }]
const never = (): Promise<never> => new Promise(() => {})
const run = { read: () => 'x' }

const functions: readonly (readonly [string, (asked: () => void) => Partial<TurnOptions>])[] = [
  ['stopWhen', (asked) => ({ run, stopWhen: () => (asked(), never()) })],
  ['onStep', (asked) => ({ run, onStep: () => (asked(), never()) })],
  ['prepareStep', (asked) => ({ run, prepareStep: () => (asked(), never()) })],
  ['approve', (asked) => ({ run: { read: { run: run.read, approve: () => (asked(), never()) } } })],
]
const ways: readonly (readonly [string, (made: Scene, user: AbortController) => unknown])[] = [
  ['its signal', (_, user) => user.abort()],
  ['a cancel', ({ chat }) => chat.cancel({ by: 'ann' })],
]

it.each(functions.flatMap(([name, options]) => ways.map(([way, end]) => ({ name, options, way, end }))))(
  'a turn whose $name never answers is ended by $way',
  async ({ options, end }) => {
    const made = await scene([calls, yes])
    const user = new AbortController()
    const asked = Promise.withResolvers<void>()
    const ended = failure(made.turn({ tools, signal: user.signal, ...options(asked.resolve) }))
    await asked.promise
    await end(made, user)
    expect(await ended).toMatchObject({ _tag: expect.stringMatching(/^(ModelAborted|TurnCancelled)$/) })
  },
)
