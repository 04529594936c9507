import type { RefObject } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { type ListPageQuery, orders, traits } from './rows.ts'

interface FiltersProps {
  readonly asked: ListPageQuery
  readonly ask: (next: Partial<ListPageQuery>) => void
  readonly field: RefObject<HTMLInputElement | null>
  /** True if the server has a search index. Without one, it finds conversations only by the beginning of their ids. */
  readonly isIndexed: boolean
}

/** Delay between the last keystroke and the request, in milliseconds. */
const rest = 250

export const Filters = ({ asked, ask, field, isIndexed }: FiltersProps) => {
  const place = isIndexed ? asked.in : 'ids'
  return (
    <form class="filters" role="search" onSubmit={(event) => event.preventDefault()}>
      <Typed
        name="q"
        class="sought"
        label={place === 'ids' ? 'beginning of an id' : 'search text, paths, tools, ids'}
        value={asked.q}
        set={(q) => ask({ q, in: place })}
        field={field}
      />
      {isIndexed && (
        <>
          <label>
            <span class="sr-only">search in</span>
            <select
              value={asked.in}
              onChange={(event) => ask({ in: event.currentTarget.value as ListPageQuery['in'] })}
            >
              <option value="text">in everything</option>
              <option value="ids">in ids only</option>
            </select>
          </label>
          <label>
            <span class="sr-only">has</span>
            <select value={asked.has} onChange={(event) => ask({ has: event.currentTarget.value })}>
              <option value="">any event</option>
              {traits.map((trait) => (
                <option key={trait}>{trait}</option>
              ))}
            </select>
          </label>
          <Typed name="model" label="model" value={asked.model} set={(model) => ask({ model })} />
          <Typed name="actor" label="actor" value={asked.actor} set={(actor) => ask({ actor })} />
          <label>
            <span class="sr-only">order</span>
            <select value={asked.order} onChange={(event) => ask({ order: event.currentTarget.value })}>
              {Object.entries(orders).map(([order, words]) => (
                <option key={order} value={order}>
                  {words}
                </option>
              ))}
            </select>
          </label>
        </>
      )}
    </form>
  )
}

interface TypedProps {
  readonly name: string
  readonly label: string
  readonly value: string
  readonly set: (value: string) => void
  readonly class?: string
  readonly field?: RefObject<HTMLInputElement | null>
}

/** Shows a search field that applies its value when the user pauses typing. */
const Typed = ({ name, label, value, set, class: own = '', field }: TypedProps) => {
  const [typed, setTyped] = useState(value)
  // Last value that was applied. When it comes back as `value`, the user may have typed more.
  const told = useRef(value)
  // Newest `set`, because the other filters may have changed since the user typed.
  const tell = useRef(set)
  tell.current = set
  useEffect(() => {
    if (value === told.current) return
    told.current = value
    setTyped(value)
  }, [value])
  useEffect(() => {
    if (typed === told.current) return undefined
    const timer = setTimeout(() => {
      told.current = typed
      tell.current(typed)
    }, rest)
    return () => clearTimeout(timer)
  }, [typed])
  return (
    <label class={own}>
      <span class="sr-only">{label}</span>
      <input
        {...(field && { ref: field as RefObject<HTMLInputElement> })}
        type="search"
        name={name}
        placeholder={label}
        autocomplete="off"
        spellcheck={false}
        value={typed}
        onInput={(event) => setTyped(event.currentTarget.value)}
        onKeyDown={(event) => event.key === 'Escape' && event.currentTarget.blur()}
      />
    </label>
  )
}
