import type { AnswerOf, PathOf } from '../../server/client/api.ts'

// Names that the page uses for the API's responses. Their types are derived from the server's schemas.

type Answer<T extends PathOf<'get'>> = AnswerOf<'get', T>

export type ConversationListResponse = Answer<'/conversations'>
export type ConversationListRow = ConversationListResponse['items'][number]

/** Outline of a conversation: its events without their content, as columns. */
export type OutlineResponse = Answer<'/conversations/{id}/outline'>
export type OutlineMarker = OutlineResponse['markers'][number]
export type OutlineRewind = OutlineResponse['rewinds'][number]
export type OutlineRestore = OutlineResponse['restores'][number]
/** Overview of a long conversation: figures for each bucket of events, as columns. */
export type LinksResponse = Answer<'/conversations/{id}/links'>
export type OverviewResponse = Answer<'/conversations/{id}/overview'>

export type EffectiveResponse = Answer<'/conversations/{id}/effective'>
export type ClippedItem = EffectiveResponse['items'][number]
export type RequestRepair = NonNullable<EffectiveResponse['repairs']>[number]
export type FullResponse = Answer<'/conversations/{id}/full'>
export type ShownEntry = FullResponse['items'][number]

export type SearchHitRow = Answer<'/conversations/{id}/search'>['items'][number]
export type HitVisibility = SearchHitRow['now']

export type DiffResponse = Answer<'/conversations/{id}/diff'>

export type CallListResponse = Answer<'/conversations/{id}/calls'>
export type CallResponse = Answer<'/conversations/{id}/calls/{call}'>
export type ReceiptState = CallResponse['state']
export type MarkerStoryResponse = Answer<'/conversations/{id}/markers/{marker}'>
export type WhyResponse = Answer<'/conversations/{id}/calls/{call}/why'>

export type StoreLedger = NonNullable<Answer<'/audit'>['ledger']>
export type ConversationAuditResponse = Answer<'/conversations/{id}/audit'>
/** Ledger entry that seals a conversation up to a position, compared with the current events. */
export type AuditHead = NonNullable<ConversationAuditResponse['ledger']>['heads'][number]
export type AnchorRow = StoreLedger['anchors'][number]
export type VerificationResponse = Answer<'/conversations/{id}/verification'>
export type VerificationFinding = NonNullable<VerificationResponse['receipts']>['findings'][number]

export type BisectionResponse = Answer<'/conversations/{id}/bisections/{bisection}'>
export type BisectionAnswer = BisectionResponse['verdicts'][number]['verdict']
export type BisectionResult = BisectionResponse['result']
export type CacheResponse = Answer<'/conversations/{id}/cache'>
export type Break = CacheResponse['breaks'][number]
export type CostResponse = Answer<'/conversations/{id}/cost'>
export type ReplayResponse = AnswerOf<'post', '/conversations/{id}/replay'>
export type ReplayRow = ReplayResponse['calls'][number]

/** Tool call that waits for a person's decision or for an external result. */
export type WaitingCallItem = Answer<'/conversations/{id}/waiting'>['items'][number]
/** Step that a worker is to carry out or is carrying out. */
export type BoardStep = Answer<'/steps'>['items'][number]
export type BoardWorker = Answer<'/workers'>['items'][number]

/** Result of a dry run: the events that a command would write, and the context before and after. */
export type ActPreview = Extract<
  AnswerOf<'post', '/conversations/{id}/commands'>,
  { readonly before: unknown }
>
export type ContextStats = ActPreview['before']
