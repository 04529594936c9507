import type { AnswerOf, PathOf } from '../../server/client/api.ts'

// The answers of the API by the names that the page has for them. Their types are those of the server's schemas.

type Answer<T extends PathOf<'get'>> = AnswerOf<'get', T>

export type ConversationListResponse = Answer<'/conversations'>
export type ConversationListRow = ConversationListResponse['items'][number]

/** The events without their content, in columns. */
export type OutlineResponse = Answer<'/conversations/{id}/outline'>
export type OutlineMarker = OutlineResponse['markers'][number]
export type OutlineRewind = OutlineResponse['rewinds'][number]
export type OutlineRestore = OutlineResponse['restores'][number]
/** A long conversation in parts, in columns. */
export type OverviewResponse = Answer<'/conversations/{id}/overview'>

export type EffectiveResponse = Answer<'/conversations/{id}/effective'>
export type ClippedItem = EffectiveResponse['items'][number]
export type RequestRepair = NonNullable<EffectiveResponse['repairs']>[number]
export type FullResponse = Answer<'/conversations/{id}/full'>
export type ShownEntry = FullResponse['items'][number]

export type SearchHitRow = Answer<'/conversations/{id}/search'>['items'][number]
/** Visibility of a message to the model. */
export type HitVisibility = SearchHitRow['now']

export type DiffResponse = Answer<'/conversations/{id}/diff'>

export type CallListResponse = Answer<'/conversations/{id}/calls'>
export type CallResponse = Answer<'/conversations/{id}/calls/{call}'>
export type ReceiptState = CallResponse['state']
export type WhyResponse = Answer<'/conversations/{id}/calls/{call}/why'>

export type StoreLedger = NonNullable<Answer<'/audit'>['ledger']>
export type ConversationAuditResponse = Answer<'/conversations/{id}/audit'>
/** Something of a conversation that was sealed. */
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

/** A call of a tool that a person decides about, or whose result comes from outside. */
export type WaitingCallItem = Answer<'/conversations/{id}/waiting'>['items'][number]
/** Something that workers are asked to do. */
export type BoardStep = Answer<'/turns'>['items'][number]
export type BoardWorker = Answer<'/workers'>['items'][number]

/** Events that a command would write, and the view of the model then. */
export type ActPreview = Extract<
  AnswerOf<'post', '/conversations/{id}/commands'>,
  { readonly before: unknown }
>
export type ContextStats = ActPreview['before']
