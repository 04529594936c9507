import { expect } from 'vitest'
import type { Stored } from './judge.ts'
import { blocksIn, type Raw, saidIn } from './raw-log.ts'
import type { Observed } from './run.ts'
import { type Effect, isRecorded, isUnsafe, needsApproval } from './tools.ts'

export const judgeEffects = ({ effects }: Observed, stored: readonly Stored[]): void => {
  // What is run on another approval has another key.
  for (const [key, all] of Map.groupBy(effects, (effect) => effect.key)) {
    const [first] = all
    if (first && isUnsafe(first.tool)) expect(all.length, `effects of ${first.tool} ${key}`).toBe(1)
  }
  for (const effect of effects) judgeEffect(effect, stored)
  for (const { log, paths, facts } of stored) {
    const starts = facts.filter(({ type }) => type === 'ToolStarted')
    const names = starts.map(({ data, position }) => {
      const wait = waitBefore(facts.slice(0, position), Number(data['reply']), String(data['call']))
      return `${String(data['reply'])} ${String(data['call'])} ${wait?.position}`
    })
    expect(new Set(names).size, 'a call is started once on a wait').toBe(names.length)
    // What was denied may be approved once the conversation has gone back to before the denial.
    for (const position of paths.at(-1) ?? []) judgeTold(log[position] as Raw, effects)
  }
}

/** What a result says of an effect is true. */
const judgeTold = (event: Raw, effects: readonly Effect[]): void => {
  for (const block of blocksIn(event)) {
    if (block.type !== 'tool_result') continue
    const content = JSON.stringify(block['content'])
    const made = effects.filter(({ call }) => call === block['tool_use_id'])
    if (content.includes(' done')) expect(made.length, `effects of ${content}`).toBeGreaterThan(0)
    const isDenied = content.includes('was denied') && !content.includes('had been started before')
    if (isDenied && made.some(({ tool }) => isUnsafe(tool)))
      throw new Error(`an effect of a call that was not run: ${content} ${JSON.stringify(made)}`)
  }
}

const waitBefore = (facts: readonly Raw[], reply: number, call: string): Raw | undefined =>
  facts.findLast(
    ({ type, data }) =>
      type === 'CallsWaiting' && data['reply'] === reply && (data['calls'] as string[]).includes(call),
  )

const judgeEffect = (effect: Effect, stored: readonly Stored[]): void => {
  const [chat, at, call] = effect.key.split('/')
  const reply = Number(at)
  const of = stored.find(({ id }) => id === chat) as Stored
  const facts = of.facts.slice(0, effect.facts)
  const isOf = ({ data }: Raw): boolean => data['reply'] === reply && data['call'] === call
  const use = blocksIn(of.log[reply] as Raw).find(({ id }) => id === call)
  expect(use, `the call of ${effect.key}`).toMatchObject({ type: 'tool_use', name: effect.tool })
  const input = use?.['input'] as Effect['input']
  const started = facts.findLast((fact) => fact.type === 'ToolStarted' && isOf(fact))
  if (isRecorded(effect.tool)) expect(started, `the start of ${effect.key}`).toBeDefined()
  if (!needsApproval(effect.tool, input)) return expect(effect.input).toEqual(input)
  // What may run twice is approved for each time, and started once.
  const before = started && isUnsafe(effect.tool) ? facts.slice(0, started.position) : facts
  const wait = waitBefore(before, reply, call ?? '')
  const decision = before.find(
    (fact) => fact.type === 'CallDecided' && isOf(fact) && fact.data['wait'] === wait?.position,
  )
  expect(decision?.data['decision'], `the decision on ${effect.key}`).toBe('approved')
  if (!wait || !decision) return
  expect(effect.input, 'the input that was approved').toEqual(decision.data['input'] ?? input)
  const {
    until,
    keep,
    at: since,
  } = wait.data as { readonly until?: string; readonly keep?: true; readonly at: number }
  if (until !== undefined) expect(decision.metadata.time <= until, 'approved in time').toBe(true)
  const end = Number((started ?? decision).data['at'])
  const left = of.log.filter(
    ({ type, data, position }) =>
      type === 'Rewound' && position > since && position <= end && Number(data['to']) < reply,
  )
  expect(left, `rewinds to before ${effect.key} since it waits`).toEqual([])
  if (keep) return
  const said = (of.paths[end] ?? []).filter(
    (position) =>
      position > reply &&
      position <= Number(decision.data['at']) &&
      of.log[position]?.data['role'] === 'user' &&
      saidIn(blocksIn(of.log[position])).length > 0,
  )
  expect(said, `what was said before ${effect.key} was approved`).toEqual([])
}
