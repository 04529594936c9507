import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { describe, expect, test } from 'vitest'
import { outputOn } from '../../src/cli/output.ts'
import { type FindingParts, writeFinding } from '../../src/cli/views/write-finding.ts'

describe('a finding', () => {
  const written = async (
    finding: FindingParts,
    terminal: { readonly isTTY?: boolean; readonly columns?: number },
  ) => {
    const stream = Object.assign(new PassThrough(), terminal)
    await writeFinding(outputOn(stream), finding)
    stream.end()
    // oxlint-disable-next-line no-control-regex -- colours
    return (await text(stream)).replaceAll(/\u001b\[\d+m/g, '')
  }
  const message = `at 4, chain: the event before it is ${'not '.repeat(20)}the one ${'x'.repeat(100)}`
  const terminal = { isTTY: true, columns: 80 }

  test('is one line in a pipe', async () => {
    expect(await written([['CHANGED'], ['a'], [message]], {})).toBe(`CHANGED  a  ${message}\n`)
  })

  test('is one line on a terminal, if that is wide enough', async () => {
    expect(await written([['CHANGED'], ['a'], ['at 4']], terminal)).toBe('CHANGED  a  at 4\n')
  })

  test('is several lines on another terminal, and no word of it is lost', async () => {
    const lines = (await written([['CHANGED'], ['a'], [message]], terminal)).trimEnd().split('\n')
    expect(lines[0]).toBe('CHANGED  a')
    for (const line of lines) if (!line.includes('x')) expect(line.length).toBeLessThanOrEqual(80)
    // It may be a path that one copies.
    expect(lines.at(-1)?.trim()).toBe('x'.repeat(100))
    const without = (whole: string): string => whole.replaceAll(' ', '')
    expect(without(lines.slice(1).join(''))).toBe(without(message))
  })
})
