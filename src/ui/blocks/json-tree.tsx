import { useMemo, useState } from 'preact/hooks'
import { count, number, size as sizeOf } from '../words.ts'
import { blank, clamp } from './exact.ts'
import { More } from './more.tsx'
import { Unchanged } from './unchanged.tsx'

/** Number of fields shown at first, and added by each click. */
const step = 50

interface JsonTreeProps {
  readonly value: object
  /** Name of the value in the object around it; undefined at the top. */
  readonly name?: string | undefined
}

/** Shows an object or a list as a tree. Objects and lists in it are folded, and made only when they are opened. */
export const JsonTree = ({ value, name }: JsonTreeProps) => {
  const [isOpen, setOpen] = useState(name === undefined)
  const keys = useMemo(() => Object.keys(value), [value])
  const [most, setMost] = useState(step)
  const [start, end] = Array.isArray(value) ? ['[', ']'] : ['{', '}']
  const size = Array.isArray(value) ? count(keys.length, 'item') : count(keys.length, 'field')
  if (keys.length === 0)
    return (
      <div class="json leaf">
        {name !== undefined && <span class="name">{name}</span>} {start}
        {end}
      </div>
    )
  return (
    <details
      class="json"
      open={isOpen}
      onToggle={(event) => setOpen(event.currentTarget.open)}
      onClick={(event) => event.stopPropagation()}
    >
      <summary>
        {name !== undefined && <span class="name">{name}</span>}{' '}
        <span class="faint">
          {start} {size} {end}
        </span>
      </summary>
      {isOpen && (
        <div class="within">
          {keys.slice(0, most).map((key) => (
            <Value key={key} name={key} value={(value as Readonly<Record<string, unknown>>)[key]} />
          ))}
          {keys.length > most && (
            <More onClick={() => setMost(most + step)}>
              {number(Math.min(step, keys.length - most))} more of {size}
            </More>
          )}
        </div>
      )}
    </details>
  )
}

const Value = ({ name, value }: { readonly name: string; readonly value: unknown }) =>
  typeof value === 'object' && value !== null ? (
    <JsonTree name={name} value={value} />
  ) : (
    <div class="json leaf">
      <span class="name">{name}</span>{' '}
      {typeof value === 'string' ? <Leaf text={value} /> : <span>{String(value)}</span>}
    </div>
  )

/** Shows a string, of which a long one opens in place. */
const Leaf = ({ text }: { readonly text: string }) => {
  const [isOpen, setOpen] = useState(false)
  const nothing = blank(text)
  const beginning = isOpen ? undefined : clamp(text)
  if (nothing !== undefined) return <p class="nothing">{nothing}</p>
  if (beginning === undefined) return <Unchanged text={text} />
  return (
    <div>
      <Unchanged text={beginning} isCut />
      <More onClick={() => setOpen(true)}>open all {sizeOf(text.length)}</More>
    </div>
  )
}
