import { Blocks } from '../blocks/blocks.tsx'
import type { Item } from '../../core.ts'
import { Header } from '../header.tsx'
import type { PageProps } from '../page.ts'
import { Bar, Failed, Skeleton, useFetched } from '../states.tsx'
import { apiOf, queryOf, viewOf } from '../url.ts'

interface Shown {
  readonly items: readonly Item[]
}

/** One conversation, at a position. */
export const ConversationPage = ({ source, params: { id = '' }, search }: PageProps) => {
  const { at } = viewOf(search)
  const { value, error, isBusy, retry } = useFetched<Shown>(
    source,
    `${apiOf(id)}/effective${queryOf({ at })}`,
  )
  return (
    <>
      <Bar isBusy={isBusy} />
      <Header>
        <span class="place">{id}</span>
      </Header>
      <main class="plain">
        {error !== undefined && <Failed error={error} retry={retry} />}
        {!value && error === undefined && <Skeleton />}
        {value?.items.map((item) => (
          <article key={item.position}>
            {item.kind === 'message' && (
              <Blocks
                source={source}
                of={{ conversation: id, position: item.position }}
                content={item.content}
              />
            )}
          </article>
        ))}
      </main>
    </>
  )
}
