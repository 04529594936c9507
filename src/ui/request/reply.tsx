import { Blocks } from '../blocks/blocks.tsx'
import type { ApiSource } from '../source/source.ts'
import { useFetched } from '../states.tsx'
import { apiOf, hrefs } from '../url.ts'
import { moment, number } from '../words.ts'
import type { CallResponse } from '../source/answers.ts'

interface ReplyProps {
  readonly source: ApiSource
  readonly id: string
  readonly call: Pick<CallResponse, 'origin' | 'kind'> & { readonly position: number }
  readonly level?: 'h2' | 'h3'
  /** Figures after the time: tokens, latency. */
  readonly figures?: readonly (string | false | undefined)[]
}

/** Shows the reply to a request, or the summary that it returned. */
export const Reply = ({ source, id, call, level: Heading = 'h2', figures = [] }: ReplyProps) => {
  const { position, origin = {}, kind } = call
  const path = apiOf(id, '/events', { from: position, limit: 1, clip: 700 })
  const { value } = useFetched(source, path)
  const event = value?.items[0]
  const content =
    event?.type === 'Condensed'
      ? event.data.summary.flatMap((message) => message.content)
      : event?.type === 'MessageAppended'
        ? event.data.content
        : undefined
  return (
    <section class="reply">
      <Heading>{kind === 'summary' ? 'Summary' : 'Reply'}</Heading>
      <p class="faint">
        at <a href={hrefs.conversation(id, { at: position })}>{number(position)}</a>
        {event && ` · ${moment(event.metadata.time)}`}
        {figures.map((figure) => figure && ` · ${figure}`)}
        {origin.stopReason && ` · stopped: ${origin.stopReason}`}
        {origin.requestId !== undefined && (
          <>
            {' '}
            · <code>{origin.requestId}</code>
          </>
        )}
      </p>
      {content && (
        <article class="request-message assistant">
          <div class="said-body">
            <Blocks
              source={source}
              of={{ conversation: id, position }}
              content={content}
              cuts={event?.cuts}
              total={event?.blocks}
              isNamed
            />
          </div>
        </article>
      )}
    </section>
  )
}
