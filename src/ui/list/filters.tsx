import type { RefObject } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { Glyph, type GlyphName } from '../head/glyphs.tsx'
import { type ConversationStatus, statusWords } from '../head/statuses.ts'
import type { ConversationListResponse } from '../source/answers.ts'
import { number, shortModel } from '../words.ts'
import { hrefOf, isNarrowed, type ListPageQuery, orders, traits } from './rows.ts'

interface FiltersProps {
  readonly asked: ListPageQuery
  readonly ask: (next: Partial<ListPageQuery>) => void
}

interface SoughtProps extends FiltersProps {
  readonly field: RefObject<HTMLInputElement | null>
  /** True if the server has a search index. Without one, it finds conversations only by the beginning of their ids. */
  readonly isIndexed: boolean
}

/** Shows the search field of the list. */
export const Sought = ({ asked, ask, field, isIndexed }: SoughtProps) => {
  const place = isIndexed ? asked.in : 'ids'
  return (
    <form class="sought-in" role="search" onSubmit={(event) => event.preventDefault()}>
      <Typed
        name="q"
        class="sought"
        label={place === 'ids' ? 'beginning of an id' : 'search text, paths, tools, ids'}
        value={asked.q}
        set={(q) => ask({ q, in: place })}
        field={field}
      />
      {isIndexed && (
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
      )}
    </form>
  )
}

type ListCounts = ConversationListResponse['counts']

const ofStatus: readonly (readonly [ConversationStatus, GlyphName?])[] = [
  ['needs-approval', 'approval'],
  ['working'],
  ['failed'],
  ['parked'],
]
const signs: Readonly<Record<string, GlyphName>> = {
  condensed: 'condensed',
  truncated: 'truncated',
  rewound: 'rewound',
  restored: 'restored',
  forked: 'fork',
}

/** Shows the filters as chips, each with the number of conversations that it lists, and the fields that have no chips. */
export const Chips = ({ asked, ask, counts }: FiltersProps & { readonly counts: ListCounts | undefined }) => {
  const has = asked.has === '' ? [] : asked.has.split(',')
  return (
    <div class="chips" role="group" aria-label="Filters">
      <Chip
        name="All"
        many={counts?.all}
        isOn={!isNarrowed({ ...asked, q: '' })}
        href={hrefOf({ ...asked, status: '', errors: '', has: '', model: '', actor: '' })}
      />
      {ofStatus.map(([status, sign]) => {
        const isOn = asked.status === status
        const many = counts?.status[status]
        if (status === 'parked' && !many && !isOn) return null
        return (
          <Chip
            key={status}
            name={statusWords[status]}
            sign={sign}
            tone={status}
            many={many}
            isOn={isOn}
            href={hrefOf({ ...asked, status: isOn ? '' : status })}
          />
        )
      })}
      <Chip
        name="Errors"
        sign="error"
        tone="failed"
        many={counts?.errors}
        isOn={asked.errors !== ''}
        href={hrefOf({ ...asked, errors: asked.errors === '' ? 'true' : '' })}
      />
      <i aria-hidden="true" />
      {traits.map((trait) => {
        const isOn = has.includes(trait)
        const others = has.filter((other) => other !== trait)
        return (
          <Chip
            key={trait}
            name={trait.replace(/^./, (letter) => letter.toUpperCase())}
            sign={signs[trait]}
            tone={trait}
            many={counts?.has[trait]}
            isOn={isOn}
            href={hrefOf({ ...asked, has: (isOn ? others : [...has, trait]).join(',') })}
          />
        )
      })}
      <i aria-hidden="true" />
      <Menu
        name="model"
        counts={counts?.models}
        value={asked.model}
        wordOf={shortModel}
        set={(model) => ask({ model })}
      />
      <Menu name="actor" counts={counts?.actors} value={asked.actor} set={(actor) => ask({ actor })} />
    </div>
  )
}

/** Chooses the order of the list. */
export const Order = ({ asked, ask }: FiltersProps) => (
  <label class="order">
    <span class="sr-only">order</span>
    <select value={asked.order} onChange={(event) => ask({ order: event.currentTarget.value })}>
      {Object.entries(orders).map(([order, words]) => (
        <option key={order} value={order}>
          {words}
        </option>
      ))}
    </select>
  </label>
)

interface ChipProps {
  readonly name: string
  readonly sign?: GlyphName | undefined
  readonly tone?: string
  readonly many: number | undefined
  readonly isOn: boolean
  /** Address of the list with the filter switched. */
  readonly href: string
}

const Chip = ({ name, sign, tone = '', many, isOn, href }: ChipProps) => (
  <a class="chip" href={href} aria-current={isOn ? 'true' : undefined}>
    {sign && <Glyph name={sign} class={`of-${tone}`} />}
    {name}
    {many !== undefined && <span class="figures"> {number(many)}</span>}
  </a>
)

interface MenuProps {
  readonly name: string
  /** Names to choose from, with the number of conversations of each; undefined until the server has counted them. */
  readonly counts: readonly { readonly name: string; readonly count: number }[] | undefined
  readonly value: string
  readonly wordOf?: (name: string) => string
  readonly set: (value: string) => void
}

/** Chooses a name to filter by. A name from the address is offered even if the server did not list it. */
const Menu = ({ name, counts = [], value, wordOf = (word) => word, set }: MenuProps) => {
  const isListed = value === '' || counts.some((one) => one.name === value)
  if (counts.length === 0 && value === '') return null
  return (
    <label>
      <span class="sr-only">{name}</span>
      <select
        class={value === '' ? 'chip-menu' : 'chip-menu is-on'}
        value={value}
        onChange={(event) => set(event.currentTarget.value)}
      >
        <option value="">Any {name}</option>
        {!isListed && <option value={value}>{wordOf(value)}</option>}
        {counts.map((one) => (
          <option key={one.name} value={one.name}>
            {wordOf(one.name)} {number(one.count)}
          </option>
        ))}
      </select>
    </label>
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

/** Delay between the last keystroke and the request, in milliseconds. */
const rest = 250
