import { Header } from '../header.tsx'
import type { PageProps } from '../page.ts'
import { Empty, Failed, Skeleton, useFetched } from '../states.tsx'
import { hrefs } from '../url.ts'
import { count } from '../words.ts'

interface Listed {
  readonly items: readonly { readonly id: string; readonly title: string; readonly events: number }[]
}

/** The conversations. */
export const ListPage = ({ source }: PageProps) => {
  const { value, error, retry } = useFetched<Listed>(source, '/conversations')
  return (
    <>
      <Header />
      <main class="plain">
        {error !== undefined && <Failed error={error} retry={retry} />}
        {!value && error === undefined && <Skeleton />}
        {value?.items.length === 0 && <Empty title="There are no conversations yet" />}
        <ul>
          {value?.items.map(({ id, title, events }) => (
            <li key={id}>
              <a href={hrefs.conversation(id)}>{title || id}</a>{' '}
              <span class="faint">{count(events, 'event')}</span>
            </li>
          ))}
        </ul>
      </main>
    </>
  )
}
