import '../tabs.css'
import './request.css'
import { useActs } from '../acts/use-acts.tsx'
import { InHeader } from '../head/in-header.tsx'
import type { PageProps } from '../page.ts'
import { go } from '../router.ts'
import { Bar, Failed, Skeleton, useFetched } from '../states.tsx'
import { apiOf, hrefs } from '../url.ts'
import { useActions } from '../use-keys.ts'
import { number } from '../words.ts'
import { placeOf } from './neighbours.ts'
import { receiptLabelOf } from './receipt.ts'
import { Reply } from './reply.tsx'
import { apiPathOf } from '../../server/client/api-path.ts'
import type { CallResponse } from '../source/answers.ts'
import { bodyOf, nameOf } from './call.ts'
import { RequestView, wayOf } from './view.tsx'
import { WhyView } from './why.tsx'

/** Shows the request and the reply of a model call. */
export const CallPage = ({ source, params: { id = '', call: name = '' }, search }: PageProps) => {
  const way = wayOf(search)
  const hrefOf = (call: string, as = way): string => hrefs.call(id, call, as === 'reading' ? undefined : as)
  const { value, error, isBusy, retry } = useFetched(
    source,
    apiPathOf('/conversations/{id}/calls/{call}', { id, call: name }),
  )
  const { value: all } = useFetched(source, apiOf(id, '/calls', { limit: 1_000 }))
  const { value: now } = useFetched(source, apiPathOf('/conversations/{id}', { id }))
  const { previous, next, of, nth } = placeOf(name, all)
  const to = (other: string | undefined) => (other === undefined ? undefined : () => go(hrefOf(other)))
  // Position from which the request was made. After a rewind to it, the call is made again.
  const at = value?.receipt?.position ?? (value?.position ?? 1) - 1
  const answer = value?.position
  const whyPath = source.isLive ? whyPathOf(id, value) : undefined
  useActions({
    previousCall: to(previous),
    nextCall: to(next),
    goToRow: () => go(hrefs.conversation(id, { at: answer })),
    why: whyPath === undefined ? undefined : () => go(hrefOf(name, 'why'), { replace: true }),
  })
  useActs({ source, id, last: now?.position ?? at, at })
  const isThere = value !== undefined && error === undefined
  return (
    <>
      <Bar isBusy={isBusy} />
      <InHeader place="tabs">
        <nav class="steps" aria-label="Calls">
          <Step href={previous && hrefOf(previous)} word="previous call" sign="‹" />
          <span class="figures">
            {nth} <span class="faint">{of}</span>
          </span>
          <Step href={next && hrefOf(next)} word="next call" sign="›" />
        </nav>
      </InHeader>
      {/* The previous call stays until the next one is loaded. */}
      <main class="plain request" aria-busy={isBusy}>
        {!isThere && <h2 class="sr-only">Request</h2>}
        {error !== undefined && <Failed error={error} retry={retry} />}
        {!value && error === undefined && <Skeleton />}
        {isThere && (
          <>
            <h2 class="page-title">{titleOf(value)}</h2>
            <p class="faint">
              {value.origin?.model ?? textOf(value.request.model)} · made from{' '}
              <a href={hrefs.conversation(id, { at })}>what the model saw at {number(at)}</a>
            </p>
            <RequestView
              key={nameOf(value)}
              source={source}
              body={bodyOf(value)}
              exact={apiPathOf('/conversations/{id}/calls/{call}/request', { id, call: nameOf(value) })}
              isChat={value.body !== undefined}
              betas={value.betas}
              told={receiptLabelOf(value)}
              repairs={value.receipt?.options?.repairs}
              usage={value.origin?.usage}
              usd={value.usd}
              way={way}
              why={whyPath === undefined ? undefined : <WhyView source={source} id={id} path={whyPath} />}
              show={(as) => go(hrefOf(name, as), { replace: true })}
            />
            {answer !== undefined && (
              <Reply key={answer} source={source} id={id} call={{ ...value, position: answer }} />
            )}
          </>
        )}
      </main>
    </>
  )
}

/**
 * Returns the API path of the explanation of a call; undefined for a call without a reply, and for a reply that a program wrote in
 * place of a model (`<synthetic>`).
 */
const whyPathOf = (id: string, call: CallResponse | undefined) =>
  call?.position === undefined || call.origin?.model?.startsWith('<')
    ? undefined
    : apiPathOf('/conversations/{id}/calls/{call}/why', { id, call: nameOf(call) })

const titleOf = ({ kind, state, number: nth, position = 0 }: CallResponse): string => {
  if (state === 'pending') return 'The next request'
  const what = kind === 'summary' ? 'Request for a summary' : 'Request'
  return nth === undefined ? `${what} answered at ${number(position)}` : `${what} of call ${number(nth)}`
}

const textOf = (value: unknown): string => (typeof value === 'string' && value !== '' ? value : 'a model')

interface StepProps {
  readonly href: string | undefined
  readonly word: string
  readonly sign: string
}
const Step = ({ href, word, sign }: StepProps) =>
  href === undefined ? (
    <button type="button" disabled aria-label={`there is no ${word}`}>
      {sign}
    </button>
  ) : (
    <a class="button" href={href} aria-label={word}>
      {sign}
    </a>
  )
