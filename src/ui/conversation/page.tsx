import './conversation.css'
import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { announced } from '../announcer.tsx'
import type { ConversationEvent } from '../../core.ts'
import { Header } from '../header.tsx'
import type { Action } from '../keys.ts'
import type { PageProps } from '../page.ts'
import { go, goWhenAtRest, here as place, linkTo } from '../router.ts'
import { problemOf, type Source } from '../source/source.ts'
import { set, setting } from '../settings.ts'
import { openSheet } from '../sheet.tsx'
import { Bar, Empty, Failed, Skeleton, useRested } from '../states.tsx'
import { apiOf, hrefs, type Pane, type View, viewOf } from '../url.ts'
import { type Handlers, useActions } from '../use-keys.ts'
import { brief, count, kindOf, number } from '../words.ts'
import { usePins } from '../acts/pins.tsx'
import { useActs } from '../acts/use-acts.tsx'
import { WaitingCalls } from '../workers/waiting.tsx'
import type { Here } from './here.ts'
import { DiffSheet } from './diff-sheet.tsx'
import { firstOf } from './draw.ts'
import {
  stepFar,
  useEffective,
  useHidden,
  useOutline,
  usePieces,
  useRepairs,
  useWaiting,
} from './fetching.ts'
import { Inspector } from './inspector.tsx'
import { contentOf, toolNames } from './kinds.ts'
import { type Brought, List } from './list.tsx'
import { useLive } from './live.ts'
import { MarksSheet } from './marks.tsx'
import { paths } from './path.ts'
import { Ribbon } from './ribbon.tsx'
import type { Around } from './row-views.tsx'
import { type Opened, type Row, rowsOf, stateOf } from './rows.ts'
import { Search, useHits } from './search.tsx'
import { callNameAt, mayRewindBefore, type StepKind, stepFrom } from './steps.ts'
import { seenWords, Status, Top } from './top.tsx'

/** How long after a move another one still belongs to it, in milliseconds. */
const together = 1_000

/** One conversation, at a position. */
export const ConversationPage = ({ source, params: { id = '' }, search }: PageProps) => {
  const view = useMemo(() => viewOf(search), [search])
  const [dragged, setDragged] = useState<number>()
  const [attempt, setAttempt] = useState(0)
  // Where the first answer is, if the address does not say it: what is around it is asked for then.
  const [answered, setAnswered] = useState<number>()
  const first = useRef<number | undefined>(undefined)
  const asked = dragged ?? view.at
  const {
    outline,
    overview,
    error: outlineError,
    last: known,
    grown,
  } = useOutline(source, id, asked ?? answered)
  const following =
    first.current !== undefined && known !== undefined && known > first.current ? known : undefined
  const { value: answer, error, isBusy } = useEffective(source, id, asked ?? following, attempt)
  if (asked === undefined) first.current ??= answer?.at
  useEffect(() => setAnswered((before) => before ?? answer?.at), [answer?.at])
  const last = known ?? answer?.at
  const at = asked ?? following ?? answer?.at
  // The rows of another position stay until the next ones are there; if these do not come, they are in the way.
  const value = error === undefined || answer?.at === at ? answer : undefined
  useEffect(() => setDragged(undefined), [search])

  const isFollowing = asked === undefined
  const stood = useRef<number | undefined>(undefined)
  if (isFollowing || stood.current === undefined) stood.current = known
  const { connection, newest } = useLive(
    source,
    id,
    useRested(answer !== undefined && known !== undefined, 300) === true ? known : undefined,
    grown,
  )

  // Where the address leads.
  const show = (change: Partial<View>, replace = false): void =>
    go(hrefs.conversation(id, { ...view, at: dragged ?? view.at, ...change }), { replace })
  const jump = (position: number | undefined, change: Partial<View> = {}): void => {
    setDragged(undefined)
    target.current = undefined
    show({ at: position, sel: undefined, ...change })
  }
  const moved = useRef(-Infinity)
  const target = useRef<number | undefined>(undefined)
  const move = (position: number): void => {
    if (last === undefined) return
    const to = Math.max(0, Math.min(last, position))
    const isSame = performance.now() - moved.current < together
    moved.current = performance.now()
    setDragged(to)
    target.current = to
    const href = hrefs.conversation(id, { ...view, at: to, sel: undefined })
    // Back leads to where the dragging began, not to every pixel of it.
    if (isSame) goWhenAtRest(href)
    else go(href)
  }
  /** From where the last move led, although it may not be drawn yet. */
  const moveBy = (by: 1 | -1): void => {
    const isMoving = performance.now() - moved.current < together
    const from = isMoving ? (target.current ?? at) : at
    if (from !== undefined) move(from + by)
  }
  /** Whether somebody has gone elsewhere since, once what was asked for is there. */
  const stillHere = (): (() => boolean) => {
    const { href } = location
    const aim = target.current
    return () => location.href === href && target.current === aim
  }
  const step = (kind: StepKind, by: 1 | -1) => (): void => {
    if (!outline || at === undefined) return
    const to = stepFrom(outline, at, kind, by)
    if (to !== undefined) {
      jump(to)
      return
    }
    const isHere = stillHere()
    const look = async (): Promise<void> => {
      const far = await stepFar(source, id, { outline, overview, kind, by })
      if (!isHere()) return
      if (far === undefined) announced(`No ${by > 0 ? 'later' : 'earlier'} ${words[kind]}`)
      else jump(far)
    }
    look().catch((problem: unknown) => announced(problemOf(problem).detail))
  }

  // The rows.
  const own = useMemo(() => paths(outline?.rewinds ?? []), [outline])
  const isOpen = useCallback(
    (position: number) => view.open === 'all' || view.open.includes(position),
    [view.open],
  )
  const opened = useMemo((): readonly Opened[] => {
    if (!value) return []
    const markers = new Map(outline?.markers.map((marker) => [marker.position, marker]))
    const groups = value.items.flatMap((item): readonly Opened[] => {
      if (item.kind === 'message' || !isOpen(item.position)) return []
      const marker = markers.get(item.position)
      return [
        {
          position: item.position,
          before: item.position,
          from: marker ? firstOf(marker, markers) : 0,
          isGroup: true,
        },
      ]
    })
    const jumps = own.jumps(value.at).filter(({ from }) => isOpen(from))
    return [
      ...groups,
      ...jumps.map(({ from, to }) => ({ position: from, before: to + 1, from, isGroup: false })),
    ]
  }, [value, own, isOpen, outline])
  const { pieceOf, more } = usePieces(source, id, value?.at, opened)
  const letter = outline && at !== undefined ? outline.kinds[at - outline.from] : undefined
  const made = useRepairs(source, id, isBusy ? undefined : value)
  // The calls of the last reply have no result yet: nothing is wrong about that.
  const repairs = useMemo(
    () =>
      made?.filter(
        (one) => !(one.kind === 'call-answered' && one.position === value?.items.at(-1)?.position),
      ),
    [made, value],
  )
  const waiting = useWaiting(source, id, letter === 'c' && at === last ? last : undefined)
  const all = useMemo(
    () =>
      value
        ? rowsOf({
            at: value.at,
            items: value.items,
            paths: own,
            restores: outline?.restores ?? [],
            isOpen,
            pieceOf,
            repairs,
          })
        : [],
    [value, own, outline, isOpen, opened, pieceOf, repairs],
  )
  const rows = useMemo(() => all.filter((row) => isInPane(row, view.pane)), [all, view.pane])
  const names = useMemo(
    () => toolNames(all.flatMap((row) => ('item' in row ? [row.item] : 'entry' in row ? [row.entry] : []))),
    [all],
  )
  const markers = useMemo(
    () => (value?.items ?? []).flatMap((item) => (item.kind === 'message' ? [] : [item])),
    [value],
  )
  const hidden = useHidden(
    source,
    id,
    markers.slice(0, 40).map(({ position }) => position),
  )
  const hiddenCount = markers.reduce((sum, { messagesHidden }) => sum + messagesHidden, 0)
  const limit = markers.findLast(({ policy }) => policy?.of === 'context')?.policy?.allowed

  // What is selected, and brought to the top.
  const selected =
    view.sel === undefined
      ? -1
      : rows.findIndex((row) => row.position === view.sel && row.kind !== 'jump' && row.kind !== 'repair')
  const index =
    selected >= 0 || view.sel === undefined ? selected : rows.findIndex((row) => row.position === view.sel)
  const row = rows[index]
  const wanted = useRef<number | undefined>(view.sel)
  const [top, setTop] = useState<Brought>()
  // Who goes back sees the row again that was selected there.
  useEffect(() => {
    const back = (): void => {
      wanted.current = viewOf(place().search).sel
    }
    addEventListener('popstate', back)
    return () => removeEventListener('popstate', back)
  }, [])
  // What is brought to the top stays there while the rest of the view comes in.
  const held = useRef({ position: -1, until: 0 })
  useEffect(() => {
    const now = performance.now()
    const position = wanted.current ?? (now < held.current.until ? held.current.position : undefined)
    const found = rows.findIndex((one) => one.position === position)
    if (position === undefined || found < 0) return
    if (wanted.current !== undefined) held.current = { position, until: now + together }
    wanted.current = undefined
    setTop({ index: found, time: now, align: 'start' })
  }, [rows, view.sel])
  const select = (to: Row | undefined): void => {
    if (to) show({ sel: to.position }, true)
  }
  const selectBy = (by: 1 | -1): void => {
    const to = index < 0 ? rows.length - 1 : Math.max(0, Math.min(rows.length - 1, index + by))
    select(rows[to])
    setTop({ index: to, time: performance.now(), align: 'auto' })
  }
  const showPane = (pane: Pane): void => {
    wanted.current = view.sel
    show({ pane })
  }
  const toggle = (position: number): void => {
    const shown = view.open === 'all' ? opened.map((one) => one.position) : view.open
    wanted.current = position
    show({
      open: shown.includes(position) ? shown.filter((other) => other !== position) : [...shown, position],
      sel: position,
    })
  }
  const [whole, setWhole] = useState<ReadonlySet<number>>(new Set())

  // Searching.
  const [isSearching, setSearching] = useState(view.find !== undefined)
  const [isSearchAsked, setSearchAsked] = useState(0)
  const found = useHits(source, id, isSearching ? view.find : undefined)
  const closeSearch = (): void => {
    setSearching(false)
    show({ find: undefined }, true)
  }
  const current = view.sel ?? at ?? -1
  const goToHit = (position: number): void => {
    wanted.current = position
    jump(position, { sel: position })
  }
  const stepHit = (by: 1 | -1): void => {
    const { hits } = found
    const next =
      by > 0 ? hits.find((hit) => hit.position > current) : hits.findLast((hit) => hit.position < current)
    const around = by > 0 ? hits[0] : hits.at(-1)
    if (next ?? around) goToHit((next ?? around)?.position ?? 0)
  }

  const [inspector, setInspector] = useState<'default' | 'shown' | 'hidden'>(
    setting('inspector') === 'hidden' ? 'hidden' : 'default',
  )
  const isShown = inspector === 'shown' || (inspector === 'default' && innerWidth >= 900)
  const position = row?.position ?? at ?? -1
  const here: Here | undefined =
    at === undefined || last === undefined
      ? undefined
      : { source, conversation: id, at, last, selected: position, outline }
  const copyContent = async (): Promise<void> => {
    const event = await source.get<ConversationEvent>(`${apiOf(id)}/events/${position}`)
    const item = rows.find((one) => one.position === position)
    const content =
      event.type === 'MessageAppended'
        ? event.data.content
        : event.type === 'Condensed'
          ? event.data.summary.flatMap((one) => one.content)
          : []
    const text =
      content.length > 0
        ? contentOf({ kind: 'message', content } as never)
        : JSON.stringify(event.data, undefined, 2)
    await navigator.clipboard.writeText(text)
    announced(`Copied the content of ${item?.position ?? position}`)
  }
  usePins(id, at)
  const acts = useActs({
    source,
    id,
    last: last ?? -1,
    at: at ?? -1,
    first: value?.items[1]?.position,
    through: row?.kind === 'same' ? row.position : undefined,
    marker:
      row?.kind === 'group' ? row.position : row && 'group' in row ? row.group : markers.at(-1)?.position,
  })
  const request = (): void => {
    if (!outline) return
    const isReply = stepFrom(outline, position - 1, 'call', 1) === position
    const reply = isReply
      ? position
      : (stepFrom(outline, position, 'call', 1) ?? stepFrom(outline, position, 'call', -1))
    if (reply === undefined) return
    const isHere = stillHere()
    const look = async (): Promise<void> => {
      const name = await callNameAt(source, id, reply)
      if (!isHere()) return
      if (name === undefined) announced(`Nothing is known of a call that ${number(reply)} answers`)
      else go(hrefs.call(id, name))
    }
    look().catch((problem: unknown) => announced(problemOf(problem).detail))
  }
  const compare = (): void => {
    if (at === undefined || last === undefined) return
    const mark = markers.findLast((marker) => marker.position <= at)?.position
    const offers = [
      ...(row && row.position !== at ? [[row.position, 'the selected row'] as const] : []),
      ...(mark === undefined ? [] : [[mark - 1, 'before the last marker'] as const]),
      ...(at > 0 ? [[at - 1, 'the position before'] as const] : []),
      ...(at === last ? [] : [[last, 'the head'] as const]),
    ]
    openSheet(<DiffSheet conversation={id} {...{ at, last, offers }} />)
  }
  const handlers: Handlers = {
    next: () => moveBy(1),
    previous: () => moveBy(-1),
    nextTurn: step('turn', 1),
    previousTurn: step('turn', -1),
    nextMark: step('mark', 1),
    previousMark: step('mark', -1),
    nextCall: step('call', 1),
    previousCall: step('call', -1),
    start: () => jump(0),
    head: () => jump(undefined),
    goTo: () => document.querySelector<HTMLElement>('#position')?.focus(),
    rowDown: () => selectBy(1),
    rowUp: () => selectBy(-1),
    paneAll: () => showPane('all'),
    paneBoth: () => showPane('both'),
    paneModel: () => showPane('model'),
    open: () => {
      const inner = row && 'group' in row ? row.group : undefined
      const one =
        row?.kind === 'group' || row?.kind === 'jump'
          ? row.position
          : (inner ?? markers[0]?.position ?? rows.find(({ kind }) => kind === 'jump')?.position)
      if (one !== undefined) toggle(one)
    },
    openAll: () => show({ open: view.open === 'all' ? [] : 'all' }),
    text: () => show({ text: view.text === 'exact' ? 'rendered' : 'exact' }),
    inspector: () => {
      const next = isShown ? 'hidden' : 'shown'
      set('inspector', next)
      setInspector(next)
    },
    search: () => {
      setSearching(true)
      setSearchAsked(isSearchAsked + 1)
    },
    nextHit: found.hits.length > 0 ? () => stepHit(1) : undefined,
    previousHit: found.hits.length > 0 ? () => stepHit(-1) : undefined,
    copyLink: () => {
      const href = hrefs.conversation(id, { ...view, at })
      void navigator.clipboard.writeText(linkTo(href)).then(
        () => announced('Copied a link to this view'),
        () => announced('The browser did not let this page copy'),
      )
    },
    copyContent: () => void copyContent().catch(() => announced('The browser did not let this page copy')),
    request: outline ? request : undefined,
    export: source.isLive && at !== undefined && at >= 0 ? () => void openExport(source, id, at) : undefined,
    diff: compare,
    compare: source.isLive ? () => go(hrefs.compare(id, '', at)) : undefined,
    ...(outline && {
      marks: () => openSheet(<MarksSheet conversation={id} view={view} outline={outline} />),
    }),
    ...(row && {
      goToRow: row.position === at ? undefined : () => jump(row.position),
      whole: () => {
        const next = new Set(whole)
        if (!next.delete(row.position)) next.add(row.position)
        setWhole(next)
      },
      ...('group' in row &&
        row.group !== undefined && {
          cover: () => {
            wanted.current = row.group
            show({ sel: row.group }, true)
          },
        }),
    }),
  }
  useActions(handlers)
  const buttons = inspected.flatMap((action) => {
    const perform = handlers[action]
    return perform ? [[action, perform] as const] : []
  })
  const doing = acted.map((action) => [action, acts[action]] as const)

  const around: Around = {
    source,
    conversation: id,
    view: { ...view, at },
    at: value?.at ?? -1,
    names,
    hidden,
    toggle,
    more,
    whole,
  }
  const fresh = isFollowing || last === undefined ? 0 : last - (stood.current ?? last)
  useEffect(() => {
    if (fresh > 0) announced(`${fresh === 1 ? '1 new event' : `${fresh} new events`}, ${last}`)
  }, [fresh])
  useEffect(() => {
    document.title = `${id} · Palimpsest`
  }, [id])
  const isSplit = hiddenCount > 0 || rows.some(({ kind }) => kind !== 'same' && kind !== 'repair')
  const status = [
    kindOf(letter),
    ...(outline && at !== undefined ? [`${brief(outline.tokens[at - outline.from] ?? 0)} tokens`] : []),
    ...(outline && at !== undefined && outline.from === 0
      ? [`${count(lengthOf(own.stretches(at)), 'event')} on path`]
      : []),
    ...(value ? seenWords(value.total, hiddenCount) : []),
    ...(outline && mayRewindBefore(outline.from, overview)
      ? [`branches abandoned before ${number(outline.from)} are not shown`]
      : []),
  ]
  if (!answer && error !== undefined)
    return (
      <>
        <Header>
          <h1 class="place">{id}</h1>
        </Header>
        <main class="plain">
          <Failed error={error} retry={() => setAttempt(attempt + 1)} />
        </main>
      </>
    )
  return (
    <>
      <Bar isBusy={isBusy} />
      <Top
        {...{ id, at, last, isFollowing, connection, fresh }}
        isLive={source.isLive}
        onGo={(to) => jump(to)}
        onFollow={() => jump(isFollowing ? at : undefined)}
      />
      <main
        class="conversation"
        data-link={location.href}
        data-inspector={inspector}
        data-pane={view.pane}
        data-split={isSplit}
      >
        {outline && at !== undefined && last !== undefined && last >= 0 ? (
          <Ribbon
            {...{ outline, overview, at, last, limit }}
            paths={own}
            hits={found.hits.map((hit) => hit.position)}
            onMove={move}
            onStep={(key) => handlers[key]?.()}
          />
        ) : (
          <div class="ribbon">
            {outlineError === undefined ? <div class="band" /> : <Failed error={outlineError} />}
          </div>
        )}
        <div class="bar-of-view">
          <Status words={status} />
          <div class="switches">
            <div class="switch" role="radiogroup" aria-label="Show">
              {(['all', 'both', 'model'] as const).map((pane) => (
                <button
                  key={pane}
                  type="button"
                  role="radio"
                  aria-checked={view.pane === pane}
                  onClick={() => showPane(pane)}
                >
                  {paneNames[pane]}
                </button>
              ))}
            </div>
            <button
              type="button"
              class="toggle"
              aria-pressed={view.text === 'exact'}
              onClick={() => handlers.text?.()}
            >
              Exact
            </button>
            <button
              type="button"
              class="toggle"
              aria-pressed={isShown}
              onClick={() => handlers.inspector?.()}
            >
              Details
            </button>
            <button
              type="button"
              class="toggle"
              aria-pressed={isSearching}
              onClick={() => (isSearching ? closeSearch() : handlers.search?.())}
            >
              Search
            </button>
          </div>
        </div>
        {isSearching && (
          <Search
            {...found}
            words={view.find ?? ''}
            asked={isSearchAsked}
            current={current}
            onInput={(find) => show({ find: find === '' ? undefined : find }, true)}
            onGo={({ position: to }) => goToHit(to)}
            onStep={stepHit}
            onClose={closeSearch}
          />
        )}
        <section class="reading" aria-label="History">
          <div class="headings">
            {isSplit && view.pane === 'both' ? (
              <>
                <h2>Everything that happened</h2>
                <h2>What the model sees at {value === undefined ? '' : number(value.at)}</h2>
              </>
            ) : (
              <h2>
                {isSplit ? oneHeading[view.pane] : 'Everything that happened; the model sees all of it'}
              </h2>
            )}
          </div>
          {error !== undefined && <Failed error={error} retry={() => setAttempt(attempt + 1)} />}
          {!value && error === undefined && <Skeleton rows={9} />}
          {value && rows.length === 0 && <Empty title="Nothing has been said yet" />}
          {value && rows.length > 0 && (
            <List
              {...{ rows, around }}
              selected={index}
              onSelect={select}
              place={`${value.at} ${view.pane}`}
              show={top}
            />
          )}
          {waiting.length > 0 && (
            <WaitingCalls
              {...{ source, id, waiting }}
              off={acts.off}
              decided={() => setAttempt(attempt + 1)}
            />
          )}
        </section>
        {here && (
          <Inspector
            {...{ here, newest }}
            actions={buttons}
            acts={doing}
            off={acts.off}
            state={row && stateOf(row)}
          />
        )}
      </main>
    </>
  )
}

/** It is loaded when it is first asked for. */
const openExport = async (source: Source, id: string, at: number): Promise<void> => {
  const { ExportSheet } = await import('./export-sheet.tsx')
  openSheet(<ExportSheet {...{ source, id, at }} />)
}

const words: Readonly<Record<StepKind, string>> = {
  turn: 'turn',
  mark: 'marker, rewind or restore',
  call: 'call of the model',
}
const paneNames: Readonly<Record<Pane, string>> = { all: 'All', both: 'Both', model: 'Model' }
const oneHeading: Readonly<Record<Pane, string>> = {
  all: 'Everything that happened',
  both: 'Everything that happened',
  model: 'What the model sees',
}
/** The buttons of the inspector, in their order. */
const inspected: readonly Action[] = ['goToRow', 'cover', 'request', 'diff', 'copyLink', 'copyContent']
const acted = ['rewind', 'fork', 'condense', 'truncate', 'restore', 'undo'] as const

const isInPane = ({ kind }: Row, pane: Pane): boolean =>
  pane === 'both' ||
  (pane === 'model' ? kind === 'same' || kind === 'group' || kind === 'repair' : kind !== 'repair')

const lengthOf = (stretches: readonly { readonly from: number; readonly to: number }[]): number =>
  stretches.reduce((sum, { from, to }) => sum + to - from + 1, 0)
