import { readFileSync } from 'node:fs'
import { type PalimpsestError, type ErrorOf, isError, openStore } from 'palimpsest'
import { describe, expect, test } from 'vitest'

const hello = { role: 'user', content: 'Hello.' } as const
const thrownBy = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => expect.fail('it succeeded'),
    (error: unknown) => error,
  )

describe('isError', () => {
  test('tells a rejection by its tag, with the types of its data', async () => {
    const store = await openStore('memory:')
    const chat = store.conversation('a')
    await chat.append([hello, hello])
    const error = await thrownBy(chat.append(hello, { after: 0 }))
    expect(isError(error, 'OutOfRange')).toBe(false)
    if (!isError(error, 'StaleContext')) throw error
    const { after, last, conversation }: { after: number; last: number; conversation: string } = error
    expect({ after, last, conversation }).toEqual({ after: 0, last: 1, conversation: 'a' })
    await store.close()
  })

  test('takes nothing else for a typed error', () => {
    const others = [
      undefined,
      null,
      'StaleContext',
      5,
      {},
      { _tag: 'StaleContext' },
      new Error('StaleContext'),
    ]
    expect(others.filter((other) => isError(other, 'StaleContext'))).toEqual([])
  })

  test('knows every tag of docs/errors.md but those of the command line, and no other', () => {
    // The compiler checks that there are no others: a tag that is missing or misspelt is no key of this.
    const tags: Readonly<Record<PalimpsestError['_tag'], true>> = {
      AlreadyDecided: true,
      AnchorAhead: true,
      AnchorFailed: true,
      BadLine: true,
      BlobDamaged: true,
      BlobMissing: true,
      BudgetSpent: true,
      Busy: true,
      CallOutOfRange: true,
      CannotApplyRetention: true,
      CannotErase: true,
      CannotRelease: true,
      Conflict: true,
      ContextExceeded: true,
      ContextGrew: true,
      ContextTooLarge: true,
      ConversationExists: true,
      ConversationNotFound: true,
      CopyDiverged: true,
      CopyNotVerified: true,
      DecodeFailed: true,
      EventTooLarge: true,
      FileExists: true,
      FileUnreadable: true,
      FormatTaken: true,
      HistoryLost: true,
      ImportDiverged: true,
      ImportUnfinished: true,
      InvalidInput: true,
      KeyMismatch: true,
      LedgerDamaged: true,
      LedgerExists: true,
      LedgerNotFound: true,
      McpFailed: true,
      ModelAborted: true,
      ModelFailed: true,
      ModelStalled: true,
      NotSealed: true,
      NotShown: true,
      NotWaiting: true,
      NotWithdrawn: true,
      NothingNew: true,
      NothingToAnswer: true,
      NothingToHide: true,
      NothingToRewind: true,
      NothingToUndo: true,
      PriceMissing: true,
      OutOfRange: true,
      OriginalNotKept: true,
      OutcomeUnknown: true,
      SchemeTaken: true,
      SealContradicted: true,
      SecretMissing: true,
      SecretsFound: true,
      StaleContext: true,
      StoreBusy: true,
      StoreClosed: true,
      StoreCorrupt: true,
      StoreDenied: true,
      StoreFull: true,
      StoreNotFound: true,
      StoreReadOnly: true,
      StoreFaulty: true,
      StoreReplaced: true,
      StoreTooNew: true,
      StoreUnavailable: true,
      SummaryFailed: true,
      TemporaryFileFailed: true,
      TooManyCalls: true,
      TurnCancelled: true,
      TurnHeld: true,
      ToolNameTaken: true,
      UnknownFormat: true,
      UnknownRenderer: true,
      UnknownScheme: true,
      UnsafeCut: true,
      UnsupportedFormat: true,
      WorkerNotFound: true,
    }
    const text = readFileSync(new URL('../../docs/errors.md', import.meta.url), 'utf8')
    const [library = ''] = text.split('## Command-line errors')
    const documented = [...library.matchAll(/^\| `([A-Z]\w+)` \|/gm)].map(([, tag = '']) => tag)
    expect([...new Set(documented)].toSorted()).toEqual(Object.keys(tags).toSorted())
  })

  test('refuses a misspelt tag before the program runs', () => {
    // @ts-expect-error there is no such tag
    expect(isError(new Error('x'), 'StaleContxt')).toBe(false)
    const full: ErrorOf<'StoreFull'>['_tag'] = 'StoreFull'
    expect(full).toBe('StoreFull')
  })
})
