import { count, number } from '../words.ts'
import type {
  AnchorRow,
  VerificationResponse,
  VerificationFinding,
  AuditHead,
  ConversationAuditResponse,
  StoreLedger,
} from '../source/answers.ts'

// Verdict on a conversation or a store in plain words, derived from all results of the audit.

/**
 * Outcome of an audit. `bad`: something was changed. `open`: no contradiction was found, but not everything is proven. `good`:
 * everything is proven. `busy`: the outcome is not known yet.
 */
export type VerdictTone = 'bad' | 'open' | 'good' | 'busy'

export interface AuditVerdict {
  readonly tone: VerdictTone
  readonly title: string
  readonly words: string
  /** Position of the event that the verdict is about. */
  readonly position?: number | undefined
  /** Shell command that would improve the verdict. */
  readonly command?: string | undefined
}

const chainWords: Readonly<Record<string, string>> = {
  undecodable: 'cannot be read as an event',
  view: 'lists other items than the model saw there',
  marker: 'hides or restores something that was not shown there',
  content: 'has large content that is missing or damaged',
  end: 'is where the conversation should continue: its last events were changed or removed',
  note: 'is a note that was changed after it was written',
  turn: 'is a record of a turn that was changed after it was written',
  inbox: 'is a queued message that was changed after it was written',
  archive: 'is a part of the original file that was changed after it was written',
}
/** Kinds of discrepancy in side streams, where positions do not refer to events of the conversation. */
const beside: ReadonlySet<string> = new Set(['note', 'turn', 'inbox', 'archive'])

/**
 * Range of positions in which sealed events were changed or removed. It begins after `after`, the newest sealed position known to be
 * unchanged (undefined: the range begins at 0), and ends with `through`, the first sealed position whose event is different or missing.
 */
export interface Rewritten {
  readonly after: number | undefined
  readonly through: number
  readonly isGone: boolean
  readonly sealed: string
}

export const rewrittenIn = (heads: readonly AuditHead[]): Rewritten | undefined => {
  const inOrder = heads.toSorted((one, other) => one.position - other.position || one.index - other.index)
  const first = inOrder.find(({ state }) => state !== 'same')
  if (!first) return undefined
  const before = inOrder.findLast(({ state, position }) => state === 'same' && position < first.position)
  return {
    after: before?.position,
    through: first.position,
    isGone: first.state === 'gone',
    sealed: first.sealed,
  }
}

/** Formats the range of positions: `12` or `7 to 12`. */
const rangeOf = ({ after, through }: Rewritten): string =>
  (after ?? -1) + 1 === through ? number(through) : `${number((after ?? -1) + 1)} to ${number(through)}`

/** Finds the ledger entry of the newest sealed position that is unchanged. */
export const lastSealed = (heads: readonly AuditHead[]): AuditHead | undefined =>
  heads.filter(({ state }) => state === 'same').toSorted((one, other) => other.position - one.position)[0]

/** Finds the ledger entry of the newest unchanged position that an anchored checkpoint covers. */
export const lastAnchored = (
  heads: readonly AuditHead[],
  anchors: readonly AnchorRow[],
): AuditHead | undefined => {
  const size = Math.max(0, ...anchors.map((anchor) => anchor.size))
  return lastSealed(heads.filter(({ index }) => index < size))
}

/** Returns the verdict from the results so far. An argument is undefined if its result is still loading or could not be loaded. */
export const verdictOf = (
  standing: ConversationAuditResponse | undefined,
  checked: VerificationResponse | undefined,
  isChecking: boolean,
): AuditVerdict => contradiction(standing, checked) ?? (isChecking || !standing ? busy : proven(standing))

const busy: AuditVerdict = {
  tone: 'busy',
  title: 'Checking …',
  words: 'Recomputing every hash and every request that has a receipt.',
}

const contradiction = (
  standing: ConversationAuditResponse | undefined,
  checked: VerificationResponse | undefined,
): AuditVerdict | undefined => {
  const { discrepancy, receipts } = checked ?? {}
  if (discrepancy?.kind === 'newer')
    return {
      tone: 'open',
      title: 'A newer version of Palimpsest wrote this conversation',
      words: `This version cannot check it: ${discrepancy.message}.`,
    }
  if (discrepancy?.kind === 'sealed')
    return { tone: 'open', title: 'Its key is missing', words: `It was not checked: ${discrepancy.message}.` }
  if (discrepancy?.kind === 'older')
    return {
      tone: 'open',
      title: 'This is an older copy',
      words: `At ${number(discrepancy.position)}: ${discrepancy.message}.`,
    }
  if (discrepancy && beside.has(discrepancy.kind))
    return {
      tone: 'bad',
      title: 'A record kept alongside the conversation was changed',
      words: discrepancy.message,
    }
  if (discrepancy?.kind === 'chain' && discrepancy.position > 0)
    return {
      tone: 'bad',
      title: `Event ${number(discrepancy.position)} does not contain the hash of the one before it`,
      words: `Event ${number(discrepancy.position - 1)} or ${number(discrepancy.position)} was changed, or events between them were removed or moved.`,
      position: discrepancy.position,
    }
  if (discrepancy)
    return {
      tone: 'bad',
      title: `There is a problem at event ${number(discrepancy.position)}`,
      words: `It ${chainWords[discrepancy.kind] ?? `is wrong: ${discrepancy.message}`}.`,
      // No page can show an event that cannot be decoded, nor the events after it.
      position: discrepancy.kind === 'undecodable' ? discrepancy.position - 1 : discrepancy.position,
    }
  if (standing?.problem !== undefined)
    return { tone: 'bad', title: 'The ledger contradicts itself', words: standing.problem }
  const rewritten = rewrittenIn(standing?.ledger?.heads ?? [])
  if (rewritten)
    return {
      tone: 'bad',
      title: rewritten.isGone
        ? `Event ${number(rewritten.through)} was sealed but is missing`
        : `Event ${number(rewritten.through)} differs from what was sealed`,
      words: `Every hash matches the previous event, so somebody has recomputed them. Events were changed or removed in the range ${rangeOf(rewritten)}.`,
      position: rewritten.through,
    }
  const [finding] = receipts?.findings.filter(({ kind }) => kind !== 'missing') ?? []
  return finding && differing(finding)
}

const differing = ({ call, position, message }: VerificationFinding): AuditVerdict => ({
  tone: 'bad',
  title:
    call === undefined
      ? `The reply at ${number(position)} does not match its receipt`
      : `Call ${number(call)} sent a request that differs from the log`,
  words: message,
  position,
})

const proven = ({ last, ledger }: ConversationAuditResponse): AuditVerdict => {
  if (!ledger)
    return {
      tone: 'open',
      title: 'The hash chain is intact, but nothing else proves it',
      words:
        'The store has no ledger. Anyone who can write to the database could rewrite this conversation and compute every hash again.',
      command: 'palimpsest audit init',
    }
  const { heads, anchors } = ledger
  const sealed = lastSealed(heads)
  if (!sealed)
    return {
      tone: 'open',
      title: 'Not sealed yet',
      words:
        'The ledger does not contain this conversation. Until it does, the conversation could be rewritten unnoticed.',
      command: 'palimpsest audit seal --anchor PLACE',
    }
  const kept = lastAnchored(heads, anchors)
  if (!kept)
    return {
      tone: 'open',
      title: `Sealed through ${number(sealed.position)}, but kept only here`,
      words:
        'No checkpoint that covers it is kept elsewhere. Anyone who can write to the database and has the key could rewrite both.',
      command: 'palimpsest audit seal --anchor PLACE',
    }
  const since = last - kept.position
  if (since > 0)
    return {
      tone: 'open',
      title: `Unchanged since it was sealed, through ${number(kept.position)}`,
      words: `${count(since, 'event')} after it ${since === 1 ? 'is' : 'are'} in no checkpoint that is kept elsewhere yet.`,
      command: 'palimpsest audit seal --anchor PLACE',
    }
  return {
    tone: 'good',
    title: 'Unchanged since it was sealed, to its last event',
    words: 'The ledger holds the hash of its last event, and an anchor has seen a checkpoint that covers it.',
  }
}

/** Returns the verdict on the whole store. It is never `good`, because this page checks no events. */
export const storeVerdict = (ledger: StoreLedger | undefined): AuditVerdict => {
  if (!ledger)
    return {
      tone: 'open',
      title: 'No ledger',
      words:
        'Hash chains detect accidental damage. Against anyone who can write to the database, only a signed ledger proves that conversations are unchanged.',
      command: 'palimpsest audit init --origin example.com/agents',
    }
  const { anchors, unsealed, exposedSince } = ledger
  if (ledger.size === 0)
    return {
      tone: 'open',
      title: 'Nothing is sealed yet',
      words: `The ledger has begun. ${count(unsealed, 'conversation')} could be rewritten unnoticed.`,
      command: 'palimpsest audit seal --anchor PLACE',
    }
  if (anchors.length === 0)
    return {
      tone: 'open',
      title: 'Sealed, but kept only here',
      words:
        'No checkpoint was ever kept elsewhere: anyone with the database and the key could rewrite everything.',
      command: 'palimpsest audit seal --anchor PLACE',
    }
  if (exposedSince !== undefined)
    return {
      tone: 'open',
      title: 'Sealed, except for what was written since',
      words:
        unsealed === 0
          ? 'No anchor has the last checkpoint yet.'
          : `${count(unsealed, 'conversation')} ${unsealed === 1 ? 'was' : 'were'} written to since.`,
      command: 'palimpsest audit seal --anchor PLACE',
    }
  return {
    tone: 'open',
    title: 'Everything is sealed, and an anchor has seen it',
    words:
      'What is changed from now on can be noticed. Whether anything was changed already is not checked on this page.',
  }
}
