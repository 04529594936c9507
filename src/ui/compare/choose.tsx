import { useState } from 'preact/hooks'
import { apiPathOf } from '../../server/client/api-path.ts'
import { go } from '../router.ts'
import type { ApiSource } from '../source/source.ts'
import { useFetched } from '../states.tsx'
import { hrefs } from '../url.ts'

/**
 * Shows a form for choosing the conversation to compare with. Suggests conversations whose ids begin with the same six characters, as
 * the ids of forks often do, but accepts any id.
 */
export const Choose = ({ source, id }: { readonly source: ApiSource; readonly id: string }) => {
  const [typed, setTyped] = useState('')
  const { value } = useFetched(
    source,
    apiPathOf('/conversations', {}, { beginning: typed === '' ? id.slice(0, 6) : typed, limit: 20 }),
  )
  const others = value?.items.filter((one) => one.id !== id) ?? []
  return (
    <form
      class="choose"
      onSubmit={(event) => {
        event.preventDefault()
        if (typed.trim() !== '') go(hrefs.compare(id, typed.trim()))
      }}
    >
      <h2 class="page-title">Compare</h2>
      <label>
        <span class="faint">with the conversation</span>
        <input
          autofocus
          type="search"
          value={typed}
          placeholder="its id"
          onInput={(event) => setTyped(event.currentTarget.value)}
        />
      </label>
      <ul>
        {others.map((one) => (
          <li key={one.id}>
            <a href={hrefs.compare(id, one.id)}>
              <bdi>{one.id}</bdi>
            </a>{' '}
            <span class="faint" dir="auto">
              {one.title}
            </span>
          </li>
        ))}
      </ul>
    </form>
  )
}
