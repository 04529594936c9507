import { hrefs } from './url.ts'
import { number } from './words.ts'

/** Model call, identified by its number if it has a receipt, and otherwise by the position of its reply. */
interface CallAt {
  readonly call?: number | undefined
  readonly position: number
}

export const callName = ({ call, position }: CallAt): string =>
  call === undefined ? `reply at ${number(position)}` : `call ${number(call)}`

export const CallLink = ({ id, of }: { readonly id: string; readonly of: CallAt }) => (
  <a href={hrefs.call(id, of.call ?? `p${of.position}`)}>{callName(of)}</a>
)
