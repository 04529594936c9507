import { hash } from 'node:crypto'
import * as E from 'fp-ts/lib/Either.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import { unwrap, type Fallible, task } from '../../../result/fallible.ts'
import type { Anchor, AnchorRequest } from '../anchors.ts'
import { readCheckpoint } from '../checkpoints.ts'
import { type AnchorAhead, anchorAhead, type AnchorFailed, anchorFailed } from '../errors.ts'
import type { VerifierKey } from '../keys.ts'
import { isSignedBy, noteText, parseNote, parseSignatures } from '../notes.ts'
import { bytesOf } from './bytes.ts'
import { causeOf } from './cause.ts'

export interface WitnessOptions {
  /** URL of the witness, without its final `add-checkpoint`. */
  readonly url: string
  /** Verifier key of the witness. Answers without a valid signature by this key are rejected. */
  readonly key: VerifierKey
}

const timeout = 30_000
const conflict = 409

/** Returns an anchor for an HTTP service that signs a checkpoint if it continues the previous one (C2SP tlog-witness). */
export const witnessAnchor = ({ url, key }: WitnessOptions): Anchor => {
  const prefix = url.replace(/\/+$/, '')
  const asked = (path: string, body?: string): TE.TaskEither<AnchorFailed, Answer> =>
    TE.tryCatch(
      () => answerOf(`${prefix}/${path}`, body),
      (error) => anchorFailed(key.name, `does not answer (${causeOf(error)})`, error),
    )

  /** Returns the checkpoint with the witness's signatures added; undefined if they are invalid. */
  const cosigned = (checkpoint: string, lines: string): string | undefined => {
    const signatures = parseSignatures(lines)?.filter(({ name, id }) => name === key.name && id === key.id)
    const note = parseNote(checkpoint)
    if (!signatures || E.isLeft(note)) return undefined
    const { text } = note.right
    return isSignedBy({ text, signatures }, [key])
      ? noteText({ text, signatures: [...note.right.signatures, ...signatures] })
      : undefined
  }

  async function* put(anchoring: AnchorRequest): Fallible<AnchorFailed | AnchorAhead, string> {
    const { size, checkpoint } = anchoring
    let old = yield* sizeHeld(anchoring.origin)
    // The witness may know a later checkpoint than it publishes, or another sealer may have submitted one in the meantime.
    for (let isFirst = true; ; isFirst = false) {
      if (old > size) return yield anchorAhead(key.name, old, size)
      const proof = await anchoring.consistency(old)
      const lines = proof.map((each) => `${Buffer.from(each).toString('base64')}\n`).join('')
      const answer = yield* unwrap(asked('add-checkpoint', `old ${old}\n${lines}\n${checkpoint}`))
      const known = answer.status === conflict ? sizeIn(answer.text) : undefined
      if (known !== undefined && isFirst) old = known
      else if (answer.status !== 200) return yield refused(answer)
      else
        return (
          cosigned(checkpoint, answer.text) ??
          (yield anchorFailed(key.name, 'answered without a valid signature of its key'))
        )
    }
  }

  const refused = ({ status, text }: Answer): AnchorFailed =>
    anchorFailed(key.name, `refused the checkpoint (${status} ${text.trim().slice(0, 200)})`)

  async function* sizeHeld(origin: string): Fallible<AnchorFailed, number> {
    const read = readCheckpoint((yield* unwrap(held(origin))).at(-1) ?? '')
    return E.isRight(read) ? read.right.checkpoint.size : 0
  }

  /** Returns the checkpoint that the witness publishes, if its signature is valid. A witness is not required to publish one. */
  const held = (origin: string): TE.TaskEither<AnchorFailed, readonly string[]> =>
    TE.map(({ status, text }: Answer) => {
      const note = status === 200 ? parseNote(text) : E.left(undefined)
      return E.isRight(note) && isSignedBy(note.right, [key]) ? [text] : []
    })(asked(`${hash('sha256', origin)}/checkpoint`))

  return { name: key.name, held, put: (anchoring) => task(() => put(anchoring)), isPartial: true }
}

interface Answer {
  readonly status: number
  readonly text: string
}

const answerOf = async (url: string, body: string | undefined): Promise<Answer> => {
  const post = body === undefined ? {} : { method: 'POST', body }
  const answer = await fetch(url, { ...post, signal: AbortSignal.timeout(timeout) })
  return { status: answer.status, text: String(await bytesOf(answer)) }
}

const sizeIn = (text: string): number | undefined => (/^\d{1,15}\n$/.test(text) ? Number(text) : undefined)
