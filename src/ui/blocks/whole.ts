import type { AnyBlock } from '../../core.ts'
import { apiPathOf } from '../../server/client/api-path.ts'
import type { ApiSource } from '../source/source.ts'
import { leastCut } from './cut.ts'
import { createPieceReader, type ReadOn } from './lot.ts'
import type { Path } from './reader-at.ts'
import type { TextForm } from './shown.tsx'

/** Functions that load the full content of a block that the server clipped. */
export interface FullBlockReader {
  readonly all: () => Promise<AnyBlock>
  /** Returns a function that begins to read the value at a path in the block. */
  readonly at: (path: Path) => () => ReadOn
}

export interface BlockPlace {
  readonly conversation: string
  readonly position: number
}

export const wholeOf = (
  source: ApiSource,
  { conversation: id, position }: BlockPlace,
  index: number,
): FullBlockReader => {
  const route = '/conversations/{id}/events/{position}/blocks/{index}'
  const path = apiPathOf(route, { id, position, index }, { as: 'json' })
  return {
    all: async () => JSON.parse(await (await source.bytes(path)).blob.text()) as AnyBlock,
    at: (value) => () => createPieceReader(source, path, value),
  }
}

/** Form in which the content of a block is shown, and its full content if the server clipped it. */
export interface BlockParts {
  /** Full length of the clipped string, in characters. */
  readonly length?: number | undefined
  /** True if the server has left out values of the block. */
  readonly isPart?: boolean | undefined
  /** Full content of the block; undefined if nothing is clipped. */
  readonly whole?: FullBlockReader | undefined
  readonly text: TextForm
  readonly isOpen?: boolean | undefined
}

/** Reports whether the server may have clipped a string. If so, the length recorded for the block is shown as the string's full length. */
export const mayBeCut = (text: unknown, { whole }: Pick<BlockParts, 'whole'>): boolean =>
  whole !== undefined && typeof text === 'string' && text.length >= leastCut

/** Returns a string unchanged, undefined as an empty string, and any other value as JSON. */
export const textOf = (value: unknown): string =>
  typeof value === 'string' ? value : value === undefined ? '' : (JSON.stringify(value, undefined, 2) ?? '')
