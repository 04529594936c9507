import type { ApiRequestBody } from './parts.ts'

// What the API says of calls and requests.

interface Receipt {
  readonly position: number
  readonly digest: string
  readonly options?: { readonly repairs?: Readonly<Record<string, number>> | undefined } | undefined
}

/** Of `GET …/calls`. */
export interface CallListResponse {
  readonly items: readonly Named[]
  readonly next?: number | undefined
}
interface Named {
  readonly number?: number | undefined
  /** Of the answer; undefined if there is none yet. */
  readonly position?: number | undefined
}

/** What a call is named by in addresses: its number, or the position of a reply that has no receipt. */
export const nameOf = ({ number, position }: Named): string =>
  number === undefined ? `p${position}` : String(number)

export type ReceiptState = 'verified' | 'differs' | 'missing' | 'reconstructed' | 'pending'

/** Of `GET …/calls/{call}`. */
export interface CallResponse extends Named {
  readonly kind?: 'reply' | 'summary' | undefined
  readonly origin?:
    | {
        readonly model?: string | undefined
        readonly stopReason?: string | null | undefined
        readonly requestId?: string | undefined
        readonly usage?: unknown
      }
    | undefined
  readonly receipt?: Receipt | undefined
  readonly state: ReceiptState
  /** Why it is not what was sent, or cannot be compared. `path`: the place of the first difference. */
  readonly finding?:
    | { readonly kind: string; readonly message: string; readonly path?: string | undefined }
    | undefined
  /** In the form of the Messages API, its parameters by themselves. */
  readonly request: ApiRequestBody & { readonly parameters?: Readonly<Record<string, unknown>> | undefined }
  /** The body that was sent, if it had another form. */
  readonly body?: ApiRequestBody | undefined
  readonly betas?: readonly string[] | undefined
  /** What it cost, in US dollars, where the price is known. */
  readonly usd?: number | undefined
}

/** The body as it was sent. */
export const bodyOf = ({ request, body }: Pick<CallResponse, 'request' | 'body'>): ApiRequestBody => {
  if (body) return body
  const { parameters = {}, model, ...rest } = request
  return { model, ...parameters, ...rest }
}
