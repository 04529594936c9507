import { unknownBlock } from '../../src/events/blocks.ts'
import { describe, expect, it } from 'vitest'
import type { Block } from '../../src/events/blocks.ts'
import { tokensByBytes } from '../../src/projections/tokens.ts'
import { text, thinking, toolResult } from '../support/log.ts'

const words = 'x'.repeat(33)
const image: Block = { type: 'image', source: { type: 'url' } }
const document: Block = { type: 'document', source: { type: 'url' } }

describe('an estimate of tokens', () => {
  it.each<readonly [string, readonly Block[], number]>([
    ['nothing is none', [], 0],
    ['prose is 3.3 bytes a token', [text(words)], 10],
    ['bytes are counted, not characters', [text('€'.repeat(11))], 10],
    ['thinking is prose, without its signature', [thinking(words, words)], 10],
    ['a result is prose', [toolResult('a', words)], 10],
    ['a result without content is none', [{ type: 'tool_result', tool_use_id: 'a' }], 0],
    ['a result of blocks is theirs', [toolResult('a', [text(words), image])], 1_610],
    ['a picture and a document are large ones', [image, document], 3_200],
    ['any other block is JSON of 2 bytes a token', [unknownBlock({ type: 'tool_use' })], 10],
    ['the sum is rounded up, not its parts', [text('x'), text('x'), text('x'), text('x')], 2],
  ])('%s', (_, blocks, tokens) => {
    expect(tokensByBytes(blocks)).toBe(tokens)
  })
})
