import type { Block } from '../../core.ts'
import { Blocks } from '../blocks/blocks.tsx'
import type { ClippedString } from '../blocks/cut.ts'
import type { ApiSource } from '../source/source.ts'
import { useFetched } from '../states.tsx'
import { apiOf, hrefs, queryOf } from '../url.ts'
import { moment, number } from '../words.ts'
import type { CallResponse } from './shapes.ts'

interface Replied {
  readonly items: readonly {
    readonly metadata: { readonly time: string }
    readonly data: {
      readonly content?: readonly Block[]
      readonly summary?: readonly { readonly content: readonly Block[] }[]
    }
    readonly cuts?: readonly ClippedString[]
  }[]
}

interface ReplyProps {
  readonly source: ApiSource
  readonly id: string
  readonly call: CallResponse & { readonly position: number }
}

/** What the model answered. */
export const Reply = ({ source, id, call: { position, origin = {}, kind } }: ReplyProps) => {
  const path = `${apiOf(id)}/events${queryOf({ from: position, limit: 1, clip: 700 })}`
  const { value } = useFetched<Replied>(source, path)
  const event = value?.items[0]
  const content = event?.data.content ?? event?.data.summary?.flatMap((message) => message.content)
  return (
    <section class="reply">
      <h2>{kind === 'summary' ? 'Summary' : 'Reply'}</h2>
      <p class="faint">
        at <a href={hrefs.conversation(id, { at: position })}>{number(position)}</a>
        {event && ` · ${moment(event.metadata.time)}`}
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
              isNamed
            />
          </div>
        </article>
      )}
    </section>
  )
}
