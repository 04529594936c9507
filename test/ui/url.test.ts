import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  hrefs,
  matchPath,
  noView,
  panes,
  placeIn,
  queryOf,
  searchOf,
  type ConversationViewState,
  viewOf,
} from '../../src/ui/url.ts'

const position = fc.nat(1_000_000)
const views: fc.Arbitrary<ConversationViewState> = fc.record({
  at: fc.option(fc.oneof(position, fc.constant(-1)), { nil: undefined }),
  pane: fc.constantFrom(...panes),
  open: fc.oneof(
    fc.constant('all' as const),
    fc.uniqueArray(position, { maxLength: 5 }).map((all) => all.toSorted((one, other) => one - other)),
  ),
  text: fc.constantFrom('exact', 'rendered', undefined),
  sel: fc.option(position, { nil: undefined }),
  find: fc.option(fc.string({ minLength: 1 }), { nil: undefined }),
})

describe('an address', () => {
  test('holds the whole view', () => {
    fc.assert(
      fc.property(views, (view) => {
        expect(viewOf(searchOf(view))).toEqual(view)
      }),
    )
  })

  test('of an ordinary view is short', () => {
    expect(searchOf(noView)).toBe('')
    expect(searchOf({ ...noView, at: 149, open: [147, 97], sel: 28 })).toBe('?at=149&open=97,147&sel=28')
  })

  test('with nonsense shows the ordinary view', () => {
    expect(viewOf('?at=1e3&pane=none&open=x,-2,7&text=&sel=&at=5')).toEqual({
      ...noView,
      open: [7],
      at: undefined,
      sel: undefined,
      find: undefined,
    })
  })

  test('names conversations by ids of any characters', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1, unit: 'grapheme' }), position, (id, number) => {
        const path = hrefs.call(id, number)
        expect(matchPath('/c/:id/calls/:number', path)).toEqual({ id, number: String(number) })
        const { pathname } = new URL(hrefs.conversation(id, { at: 3 }), 'http://localhost')
        if (id !== '.' && id !== '..') expect(matchPath('/c/:id', pathname)).toEqual({ id })
      }),
    )
  })

  test('is of one page', () => {
    expect(matchPath('/c/:id', '/c/a/')).toEqual({ id: 'a' })
    expect(matchPath('/', '/')).toEqual({})
    for (const path of ['/c', '/c/', '/c/a/b', '/d/a', '/c/%E0%A4%A'])
      expect(matchPath('/c/:id', path)).toBeUndefined()
    expect(hrefs.diff('a/b', 1, 2)).toBe('/c/a%2Fb/diff?from=1&to=2')
    expect(hrefs.compare('a', 'b&c', 3)).toBe('/c/a/compare?with=b%26c&at=3')
    expect(queryOf({ none: undefined, empty: '', zero: 0 })).toBe('?zero=0')
  })

  test('after the # of a file is what the page had as its address', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1, unit: 'grapheme' }), views, (id, view) => {
        const { path, search } = placeIn(hrefs.conversation(id, view))
        expect(matchPath('/c/:id', path)).toEqual({ id })
        expect(viewOf(search)).toEqual(view)
      }),
    )
  })

  test('after the # of a file may be anything', () => {
    expect(placeIn('')).toEqual({ path: '/', search: '' })
    expect(placeIn('?q=a#b')).toEqual({ path: '/', search: '?q=a' })
    for (const text of ['//[', '//a:b', '%', 'c:/x', '/c/a?at=%'])
      expect(placeIn(text).path).toBe(text.replace(/\?.*/, ''))
    fc.assert(fc.property(fc.string(), (text) => void placeIn(text)))
  })
})
