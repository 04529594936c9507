import { useEffect, useRef } from 'preact/hooks'
import type { ApiSource } from '../source/source.ts'
import { hrefs } from '../url.ts'
import { number } from '../words.ts'
import type { ConversationAbout } from './about.ts'

/** Part of a path after the conversation's id: `calls/7`; empty for the conversation itself. */
const partIn = (path: string): string => path.split('/').slice(3).join('/')

/** Names of the tabs, by the first part of their paths. */
const names = {
  '': 'Conversation',
  calls: 'Calls',
  tokens: 'Tokens & cost',
  audit: 'Audit',
  bisect: 'Bisect',
} as const
type TabPart = keyof typeof names
const isTab = (part: string): part is TabPart => Object.hasOwn(names, part)

/** Tabs of an exported file, which has no server to ask. */
const ofFile: readonly TabPart[] = ['', 'calls']
const parts = Object.keys(names) as readonly TabPart[]

const hrefTo = (id: string, part: TabPart): string =>
  part === '' ? hrefs.conversation(id) : `/c/${encodeURIComponent(id)}/${part}`

/** Reports whether the page at a path tells the head the facts about its conversation, because it asks for them with its own data. */
export const isAboutTold = (path: string): boolean => partIn(path) === ''

const titles: Readonly<Record<string, string>> = { diff: 'Diff', compare: 'Compare' }

/** Returns what follows the conversation's title in the title of the window: ` · Call 7`; empty for the conversation itself. */
export const titleOfPage = (path: string): string => {
  const [first = '', second = ''] = partIn(path).split('/')
  if (first === '') return ''
  if (first === 'calls' && second !== '') return ` · Call ${second}`
  return ` · ${isTab(first) ? names[first] : (titles[first] ?? first)}`
}

interface TabsProps {
  readonly source: ApiSource
  readonly id: string
  readonly path: string
  readonly about: ConversationAbout | undefined
}

/** Links to the pages of a conversation. A page without a tab of its own, such as a diff, belongs to the first one. */
export const Tabs = ({ source, id, path, about }: TabsProps) => {
  const [first = '', second = ''] = partIn(path).split('/')
  const own = isTab(first) ? first : ''
  const isItself = first === own && second === ''
  const counts: Partial<Record<TabPart, number | undefined>> = {
    '': about?.events,
    calls: about?.replies ?? about?.calls,
  }
  const nav = useRef<HTMLElement>(null)
  // The tabs are wider than a phone, and the counts make them wider still.
  useEffect(
    () =>
      nav.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' }),
    [own, about === undefined],
  )
  return (
    <nav ref={nav} class="tabs" aria-label="Conversation">
      {(source.isLive ? parts : ofFile).map((part) => {
        const current = isItself ? 'page' : true
        const many = counts[part]
        return (
          <a key={part} href={hrefTo(id, part)} aria-current={part === own ? current : undefined}>
            {names[part]}
            {many !== undefined && many > 0 && <span class="figures"> {number(many)}</span>}
          </a>
        )
      })}
    </nav>
  )
}
