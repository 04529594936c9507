import { describe, expect, it } from 'vitest'
import { effective } from '../../../src/projections/effective.ts'
import { full } from '../../../src/projections/full.ts'
import { casesOf } from '../../support/history-predicates.ts'
import { importFile, onlyLog, planOf, sample, shownIn } from '../../support/import-log.ts'
import { moments } from '../../support/model.ts'
import { violations } from '../../support/predicates.ts'

const samples = ['claude-code.jsonl', 'pi.jsonl', 'openai.json', 'roo.json', 'anthropic.json']

describe('the shipped samples', () => {
  it.each(samples)('%s has 8 to 35 messages, and every request of it is valid', (file) => {
    const log = onlyLog(importFile(sample(file)))
    const messages = log.filter(({ type }) => type === 'MessageAppended').length
    expect(messages).toBeGreaterThanOrEqual(8)
    expect(messages).toBeLessThanOrEqual(35)
    for (const [at, request] of casesOf(log, moments(log)).entries())
      expect(violations(request), `at ${at}`).toEqual([])
  })

  it.each(samples)('%s: a second import adds nothing', (file) => {
    const archive = importFile(sample(file))
    expect(importFile(sample(file), archive)).toEqual(archive)
  })

  it.each(['claude-code.jsonl', 'pi.jsonl'])(
    '%s: imported in two parts, wherever cut, it ends the same',
    (name) => {
      const file = sample(name)
      const lines = file.text.trimEnd().split('\n')
      const whole = importFile(file)
      for (let cut = 1; cut < lines.length; cut++) {
        const part = importFile({ ...file, text: lines.slice(0, cut).join('\n') })
        const both = importFile(file, part)
        expect(shownIn(onlyLog(both)), `cut at ${cut}`).toEqual(shownIn(onlyLog(whole)))
        expect(importFile(file, both)).toEqual(both)
      }
    },
  )

  it('claude-code.jsonl shows a compaction, a retried branch and parallel calls', () => {
    const log = onlyLog(importFile(sample('claude-code.jsonl')))
    expect(log.filter(({ type }) => type === 'Condensed')).toHaveLength(1)
    expect(log.filter(({ type }) => type === 'Rewound')).toHaveLength(1)
    expect(effective(log).items[0]?.kind).toBe('summary')
    const statuses = full(log, { abandoned: true }).map(({ status }) => status)
    expect(new Set(statuses)).toEqual(new Set(['condensed', 'abandoned', 'active']))
    expect(planOf(sample('claude-code.jsonl')).report.leftOut.map(({ kind }) => kind)).toEqual([
      'file-history-snapshot',
      'progress',
      'API error',
    ])
  })

  it('pi.jsonl keeps what its compaction kept', () => {
    const { items } = effective(onlyLog(importFile(sample('pi.jsonl'))))
    expect(items.map(({ kind }) => kind)).toEqual(['summary', ...Array.from({ length: 7 }, () => 'message')])
  })

  it('roo.json ends as Roo Code shows it', () => {
    const { items } = effective(onlyLog(importFile(sample('roo.json'))))
    expect(items.map(({ kind, position }) => `${kind} ${position}`).slice(0, 3)).toEqual([
      'message 0',
      'truncation 8',
      'summary 13',
    ])
  })
})
