import type { ApiSource } from '../source/source.ts'
import { Failed, Skeleton, useFetched } from '../states.tsx'
import { toolChanges, systemText } from './configuration.ts'
import type { DiffEnd } from './ends.ts'
import { WordsChanged } from './words-changed.tsx'
import { apiOf } from '../url.ts'

interface Rendered {
  readonly system?: unknown
  readonly tools?: unknown
}

interface ConfigurationsProps {
  readonly source: ApiSource
  readonly one: DiffEnd
  readonly other: DiffEnd
}

/** Shows how the system prompt and the tools differ between two positions. */
export const Configurations = ({ source, one, other }: ConfigurationsProps) => {
  const path = ({ id, at }: DiffEnd) => apiOf(id, '/request', { at })
  const before = useFetched(source, path(one))
  const after = useFetched(source, path(other))
  const error = before.error ?? after.error
  if (error !== undefined) return <Failed error={error} />
  if (!before.value || !after.value) return <Skeleton rows={3} />
  return <ConfigurationChanges before={before.value} after={after.value} />
}

interface ConfigurationChangesProps {
  readonly before: Rendered
  readonly after: Rendered
}

export const ConfigurationChanges = ({ before, after }: ConfigurationChangesProps) => {
  const [was, is] = [systemText(before.system), systemText(after.system)]
  const tools = toolChanges(before.tools, after.tools)
  return (
    <div class="configurations">
      <h2>system prompt</h2>
      {was === is ? (
        <p class="faint">{is === '' ? 'Neither has one.' : 'It is the same in both.'}</p>
      ) : (
        <WordsChanged before={was} after={is} />
      )}
      <h2>tools</h2>
      {tools.length === 0 && <p class="faint">They are the same in both.</p>}
      {tools.map(({ name, before: old, after: now }) => (
        <details key={name}>
          <summary>
            <code>{name}</code>{' '}
            <span class="faint">
              {old === undefined ? 'added' : now === undefined ? 'removed' : 'changed'}
            </span>
          </summary>
          <WordsChanged before={old ?? ''} after={now ?? ''} />
        </details>
      ))}
    </div>
  )
}
