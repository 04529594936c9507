import { hrefs } from './url.ts'
import { number } from './words.ts'

/** A call of a model: its number, if it has a receipt, and the position of its answer. */
interface CallAt {
  readonly call?: number | undefined
  readonly position: number
}

export const callName = ({ call, position }: CallAt): string =>
  call === undefined ? `reply at ${number(position)}` : `call ${number(call)}`

/** Leads to what the model was sent. */
export const CallLink = ({ id, of }: { readonly id: string; readonly of: CallAt }) => (
  <a href={hrefs.call(id, of.call ?? `p${of.position}`)}>{callName(of)}</a>
)
