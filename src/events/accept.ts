import { type AnyBlock, isKnownBlockType } from './blocks.ts'
import { commitForm, isoTime, type Role, saltForm } from './events.ts'
import { type Fields, isFields } from './json.ts'

// Checks that recognise the shapes of nearly all stored events without zod, whose first use in a process takes longer than loading a
// whole effective history. They only accept: any value that they do not recognise is left to the schemas, which describe the fault.
// A property test shows that they never accept a value that a schema refuses.

const isText = (value: unknown): boolean => typeof value === 'string'
const isName = (value: unknown): boolean => typeof value === 'string' && value !== ''
const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0
const isOptional = (value: unknown, is: (value: unknown) => boolean): boolean =>
  value === undefined || is(value)
const isEvery = (value: unknown, is: (value: unknown) => boolean): boolean => {
  if (!Array.isArray(value)) return false
  for (const each of value) if (!is(each)) return false
  return true
}

const isTyped = (value: unknown): boolean => isFields(value) && isName(value['type'])

const isBlock = (value: unknown): boolean => {
  if (!isFields(value) || !isName(value['type'])) return false
  const block = value as AnyBlock
  switch (block.type) {
    case 'text':
      return isText(block['text'])
    case 'thinking':
      return isText(block['thinking']) && isOptional(block['signature'], isText)
    case 'tool_use':
      return isName(block['id']) && isName(block['name']) && block['input'] !== undefined
    case 'tool_result': {
      const { content, is_error: isError } = block
      const isContent = content === undefined || isText(content) || isEvery(content, isTyped)
      return (
        isName(block['tool_use_id']) && isContent && (isError === undefined || typeof isError === 'boolean')
      )
    }
    default:
      return !isKnownBlockType(block.type)
  }
}

export const isRole = (value: unknown): value is Role =>
  value === 'user' || value === 'assistant' || value === 'system'
const isMessage = (value: unknown): boolean =>
  isFields(value) && isRole(value['role']) && isEvery(value['content'], isBlock)

const digest = /^[0-9a-f]{64}$/
const isReceipt = (value: unknown): boolean =>
  isFields(value) &&
  (value['position'] === -1 || isCount(value['position'])) &&
  typeof value['digest'] === 'string' &&
  digest.test(value['digest']) &&
  isFields(value['options'])
const isEstimated = (value: unknown): boolean =>
  isFields(value) && isCount(value['input']) && isCount(value['output'])
const isOrigin = (value: unknown): boolean =>
  isFields(value) &&
  isOptional(value['model'], isText) &&
  isOptional(value['requestId'], isText) &&
  (value['stopReason'] === null || isOptional(value['stopReason'], isText)) &&
  isOptional(value['usage'], isFields) &&
  isOptional(value['estimated'], isEstimated) &&
  isOptional(value['context'], isReceipt) &&
  isOptional(value['starts'], isText)

const isCovers = (value: unknown): boolean =>
  isFields(value) && isCount(value['first']) && isCount(value['last'])
const isSegment = (value: unknown): boolean =>
  isCovers(value) || (isFields(value) && isCount(value['marker']))
const isView = (value: unknown): boolean =>
  isFields(value) &&
  isEvery(value['items'], isSegment) &&
  isOptional(value['configured'], isCount) &&
  isOptional(value['promptSince'], isCount) &&
  (value['toolsFrom'] === -1 || isOptional(value['toolsFrom'], isCount)) &&
  value['restored'] === undefined

const isPolicy = (value: unknown): boolean =>
  isFields(value) &&
  (value['of'] === 'context' || value['of'] === 'result') &&
  isCount(value['used']) &&
  isCount(value['allowed']) &&
  (value['position'] === -1 || isOptional(value['position'], isCount)) &&
  isOptional(value['settings'], isFields) &&
  isOptional(value['options'], isFields) &&
  isOptional(value['said'], isCount) &&
  isOptional(value['failed'], isText) &&
  value['learned'] === undefined

const isContainer = (value: unknown): boolean =>
  isFields(value) &&
  isCount(value['position']) &&
  isText(value['id']) &&
  isOptional(value['expires_at'], isText)

const isMarker = (data: Fields): boolean =>
  isCovers(data['covers']) &&
  isCount(data['messagesHidden']) &&
  isFields(data['tokens']) &&
  isCount(data['tokens']['before']) &&
  isCount(data['tokens']['after']) &&
  isOptional(data['policy'], isPolicy) &&
  isOptional(data['container'], isContainer) &&
  isOptional(data['view'], isView)

const methods = new Set<unknown>(['model', 'provider', 'client', 'manual'])

/** Reports whether a value is certainly valid data for an event of this type. If the result is false, the schema decides. */
export const acceptsData = (type: string, data: unknown): boolean => {
  if (!isFields(data) || data['sealed'] !== undefined) return false
  switch (type) {
    case 'MessageAppended':
      return isMessage(data) && isOptional(data['messageId'], isName) && isOptional(data['origin'], isOrigin)
    case 'Truncated':
      return isMarker(data) && isOptional(data['reason'], isText)
    case 'Condensed': {
      const { summary } = data
      const isSummary = isEvery(summary, isMessage) && (summary as readonly unknown[]).length > 0
      return (
        isMarker(data) && isSummary && methods.has(data['method']) && isOptional(data['origin'], isOrigin)
      )
    }
    case 'Restored':
      return isCount(data['marker']) && isOptional(data['view'], isView)
    case 'TurnClaimed':
      return (
        isName(data['step']) &&
        isName(data['worker']) &&
        isCount(data['attempt']) &&
        data['attempt'] !== 0 &&
        isOptional(data['isTurn'], (given) => given === true) &&
        (data['at'] === -1 || isCount(data['at']))
      )
    case 'Rewound':
      return (data['to'] === -1 || isCount(data['to'])) && isOptional(data['reason'], isText)
    default:
      return false
  }
}

const isSalt = (value: unknown): boolean => typeof value === 'string' && saltForm.test(value)

const workspaceFields = new Set(['kind', 'commit', 'dirty'])
const isWorkspace = (value: unknown): boolean =>
  isFields(value) &&
  value['kind'] === 'git' &&
  typeof value['commit'] === 'string' &&
  commitForm.test(value['commit']) &&
  isOptional(value['dirty'], (given) => given === true) &&
  Object.keys(value).every((name) => workspaceFields.has(name))

/** Reports whether a value is certainly valid metadata of an event. If the result is false, the schema decides. */
export const acceptsMetadata = (value: unknown): boolean =>
  isFields(value) &&
  isOptional(value['salt'], isSalt) &&
  Number.isSafeInteger(value['schema']) &&
  (value['schema'] as number) >= 1 &&
  typeof value['time'] === 'string' &&
  isoTime.test(value['time']) &&
  isFields(value['actor']) &&
  isName(value['actor']['kind']) &&
  isOptional(value['actor']['id'], isText) &&
  isName(value['commandId']) &&
  isOptional(value['$correlationId'], isText) &&
  isOptional(value['$causationId'], isText) &&
  isOptional(value['interrupts'], (given) => given === true) &&
  isOptional(value['answer'], (given) => given === true) &&
  isOptional(value['workspace'], isWorkspace) &&
  (value['prev'] === null || isText(value['prev'])) &&
  value['erased'] === undefined &&
  value['sealed'] === undefined
