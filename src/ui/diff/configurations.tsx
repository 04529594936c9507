import { Exact } from '../blocks/shown.tsx'
import type { Source } from '../source/source.ts'
import { Failed, Skeleton, useFetched } from '../states.tsx'
import { apiOf, queryOf } from '../url.ts'
import { toolChanges, systemText } from './configuration.ts'
import { WordsChanged } from './words-changed.tsx'

interface End {
  readonly id: string
  readonly at: number
}
interface Rendered {
  readonly system?: unknown
  readonly tools?: unknown
}

interface ConfigurationsProps {
  readonly source: Source
  readonly one: End
  readonly other: End
}

/** How the system prompt and the tools differ. */
export const Configurations = ({ source, one, other }: ConfigurationsProps) => {
  const path = ({ id, at }: End): string => `${apiOf(id)}/request${queryOf({ at })}`
  const before = useFetched<Rendered>(source, path(one))
  const after = useFetched<Rendered>(source, path(other))
  const error = before.error ?? after.error
  if (error !== undefined) return <Failed error={error} />
  if (!before.value || !after.value) return <Skeleton rows={3} />
  const [was, is] = [systemText(before.value.system), systemText(after.value.system)]
  const tools = toolChanges(before.value.tools, after.value.tools)
  return (
    <div class="configurations">
      <h3>system prompt</h3>
      {was === is ? (
        <p class="faint">{is === '' ? 'There is none at either.' : 'It is the same at both.'}</p>
      ) : (
        <WordsChanged before={was} after={is} />
      )}
      <h3>tools</h3>
      {tools.length === 0 && <p class="faint">They are the same at both.</p>}
      {tools.map(({ name, before: old, after: now }) => (
        <details key={name}>
          <summary>
            <code>
              <Exact text={name} />
            </code>{' '}
            <span class="faint">{old === undefined ? 'came' : now === undefined ? 'left' : 'changed'}</span>
          </summary>
          <WordsChanged before={old ?? ''} after={now ?? ''} />
        </details>
      ))}
    </div>
  )
}
