import { useState } from 'preact/hooks'
import { openPart } from '../part.tsx'
import { go } from '../router.ts'
import { set, setting } from '../settings.ts'
import { openSheet } from '../sheet.tsx'
import type { ApiSource } from '../source/source.ts'
import { hrefs, type Pane } from '../url.ts'
import { type Handlers, useActions } from '../use-keys.ts'
import { copyContent, copyLink } from './copy.ts'
import { DiffSheet } from './diff-sheet.tsx'
import { MarksSheet } from './marks.tsx'
import { reveal } from './reveal.ts'
import type { SearchControls } from './use-finding.ts'
import type { Moves } from './use-moves.ts'
import type { PositionView } from './use-rows.ts'
import type { RowSelection } from './use-selected.ts'
import type { Sight } from './use-sight.ts'

interface Parts {
  readonly source: ApiSource
  readonly id: string
  readonly sight: Sight
  readonly moves: Moves
  readonly shown: PositionView
  readonly selected: RowSelection
  readonly finding: SearchControls
  /** Position of the selected row; without a selection, the current position. */
  readonly position: number
}

export interface PageControls {
  readonly handlers: Handlers
  readonly inspector: 'default' | 'shown' | 'hidden'
  readonly isInspected: boolean
  /** Positions of the messages that are fully expanded. */
  readonly whole: ReadonlySet<number>
  readonly toggle: (position: number) => void
  readonly showPane: (pane: Pane) => void
  /** Selects the event at a position and scrolls to it, wherever it is hidden. */
  readonly reveal: (position: number) => void
  /** Number of times that the user went to the end. */
  readonly ends: number
}

export const useHandlers = (parts: Parts): PageControls => {
  const { source, id, sight, moves, shown, selected, finding, position } = parts
  const { view, at, outline } = sight
  const { show, jump, moveBy, step } = moves
  const { row, bring } = selected
  const [ends, setEnds] = useState(0)
  const [whole, setWhole] = useState<ReadonlySet<number>>(new Set())
  const [inspector, setInspector] = useState<PageControls['inspector']>(
    setting('inspector') === 'hidden' ? 'hidden' : 'default',
  )
  const isInspected = inspector === 'shown' || (inspector === 'default' && innerWidth >= 900)
  const showPane = (pane: Pane): void => {
    bring(view.sel)
    show({ pane })
  }
  const toggle = (of: number): void => {
    const open = view.open === 'all' ? shown.opened.map((one) => one.position) : view.open
    bring(of)
    show({ open: open.includes(of) ? open.filter((other) => other !== of) : [...open, of], sel: of })
  }
  const cover = row && 'group' in row ? row.group : undefined
  const hasHits = finding.positions.length > 0
  const from = view.sel ?? at ?? -1
  const revealed = (to: number): void => reveal(parts, to)
  const handlers: Handlers = {
    next: () => moveBy(1),
    previous: () => moveBy(-1),
    nextTurn: () => step('turn', 1),
    previousTurn: () => step('turn', -1),
    nextMark: () => step('mark', 1),
    previousMark: () => step('mark', -1),
    nextMarker: () => moves.seek('marker', 1, from, revealed),
    previousMarker: () => moves.seek('marker', -1, from, revealed),
    nextError: () => moves.seek('error', 1, from, revealed),
    previousError: () => moves.seek('error', -1, from, revealed),
    nextCall: () => step('call', 1),
    previousCall: () => step('call', -1),
    start: () => jump(0),
    head: () => {
      bring(undefined)
      setEnds(ends + 1)
      jump(undefined)
    },
    goTo: () => document.querySelector<HTMLElement>('#position')?.focus(),
    rowDown: () => selected.selectBy(1),
    rowUp: () => selected.selectBy(-1),
    paneAll: () => showPane('all'),
    paneBoth: () => showPane('both'),
    paneModel: () => showPane('model'),
    open: () => {
      const one = openableOf(parts)
      if (one !== undefined) toggle(one)
    },
    openAll: () => show({ open: view.open === 'all' ? [] : 'all' }),
    text: () => {
      const text = (view.text ?? setting('text')) === 'exact' ? 'rendered' : 'exact'
      set('text', text)
      show({ text })
    },
    inspector: () => {
      const next = isInspected ? 'hidden' : 'shown'
      set('inspector', next)
      setInspector(next)
    },
    search: finding.open,
    nextHit: hasHits ? () => finding.step(1, from) : undefined,
    previousHit: hasHits ? () => finding.step(-1, from) : undefined,
    copyLink: () => copyLink(hrefs.conversation(id, { ...view, at })),
    copyContent: () => copyContent(source, id, position),
    request: outline ? () => moves.request(position) : undefined,
    export: source.isLive && at !== undefined && at >= 0 ? () => openExport(source, id, at) : undefined,
    erase: mayErase(source) && sight.last !== undefined ? () => openErase(parts, sight.last ?? 0) : undefined,
    diff: () => compare(parts),
    compare: source.isLive ? () => go(hrefs.compare(id, '', at)) : undefined,
    ...(source.isLive && {
      why: outline && (() => moves.request(position, 'why')),
      audit: () => go(hrefs.audit(id)),
      tokens: () => go(hrefs.tokens(id)),
      bisect: () => go(hrefs.bisect(id, undefined, at === undefined ? {} : { bad: at })),
    }),
    marks: outline && (() => openSheet(<MarksSheet conversation={id} view={view} outline={outline} />)),
    goToRow: row && row.position !== at ? () => jump(row.position) : undefined,
    whole:
      row &&
      (() => {
        const next = new Set(whole)
        if (!next.delete(row.position)) next.add(row.position)
        setWhole(next)
      }),
    cover:
      cover === undefined
        ? undefined
        : () => {
            bring(cover)
            show({ sel: cover }, true)
          },
  }
  useActions(handlers)
  return { handlers, inspector, isInspected, whole, toggle, showPane, reveal: revealed, ends }
}

/**
 * Finds the group or abandoned range to expand or collapse: the selected one, else the group that contains the selected row, else the
 * first one.
 */
const openableOf = ({ shown: { rows, markers }, selected: { row } }: Parts): number | undefined => {
  if (row?.kind === 'group' || row?.kind === 'jump') return row.position
  const around = row && 'group' in row ? row.group : undefined
  return around ?? markers[0]?.position ?? rows.find(({ kind }) => kind === 'jump')?.position
}

/** Opens a sheet that asks which position to compare with, and suggests likely ones. */
const compare = ({ id, sight: { at, last }, shown: { markers }, selected: { row } }: Parts): void => {
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

/** Only some tokens may erase, so nobody else is offered it. */
const mayErase = (source: ApiSource): boolean => {
  const access = source.access()
  return source.isLive && access?.isReadOnly === false && access.scopes.includes('erase')
}

/** Opens the sheet that erases content. Its code is loaded on first use. */
const openErase = ({ source, id, position }: Parts, last: number): void =>
  openPart(import('../acts/erase-sheet.tsx'), ({ EraseSheet }) => (
    <EraseSheet {...{ source, id, last, position: Math.max(0, position) }} />
  ))

/** Opens the export sheet. Its code is loaded on first use. */
const openExport = (source: ApiSource, id: string, at: number): void =>
  openPart(import('./export-sheet.tsx'), ({ ExportSheet }) => <ExportSheet {...{ source, id, at }} />)
