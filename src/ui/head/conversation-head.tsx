import { useState } from 'preact/hooks'
import { offBecause } from '../acts/preview.ts'
import { copyText } from '../copy-text.ts'
import type { ApiSource } from '../source/source.ts'
import { hrefs } from '../url.ts'
import { useTitle } from '../use-title.ts'
import { brief, count, dollars, duration, moment, shortId, shortModel } from '../words.ts'
import { type ConversationAbout, useAbout } from './about.ts'
import { Glyph } from './glyphs.tsx'
import { HeaderSlot } from './in-header.tsx'
import { Rename } from './rename.tsx'
import { StatusWord } from './status.tsx'
import { isAboutTold, Tabs, titleOfPage } from './tabs.tsx'

interface ConversationHeadProps {
  readonly source: ApiSource
  readonly id: string
  readonly path: string
}

/** Shows which conversation this is: its title, state and figures, and the tabs of its pages. */
export const ConversationHead = ({ source, id, path }: ConversationHeadProps) => {
  const about = useAbout(source, id, !isAboutTold(path))
  const [renamed, setRenamed] = useState<string>()
  const [isRenaming, setRenaming] = useState(false)
  const title = (renamed ?? about?.title ?? '').trim() || id
  useTitle(`${title}${titleOfPage(path)}`)
  // Until the first response, the user's rights are not known.
  const mayRename = about !== undefined && offBecause(source.isLive, source.access()) === undefined
  return (
    <div class="conversation-head" aria-busy={about === undefined}>
      <div class="title-line">
        {isRenaming ? (
          <Rename
            {...{ source, id }}
            title={title}
            done={(next) => {
              if (next !== undefined) setRenamed(next)
              setRenaming(false)
            }}
          />
        ) : (
          <>
            <h1 dir="auto" title={title}>
              {title}
            </h1>
            {mayRename && (
              <button
                type="button"
                class="quiet rename"
                aria-label="Rename"
                title="Rename"
                onClick={() => setRenaming(true)}
              >
                <Glyph name="pencil" />
              </button>
            )}
          </>
        )}
        <HeaderSlot place="acts" />
      </div>
      <Facts id={id} about={about} />
      <div class="tab-line">
        <Tabs {...{ source, id, path, about }} />
        <HeaderSlot place="tabs" />
      </div>
    </div>
  )
}

/** Shows one line of facts. What is not known is left out. */
const Facts = ({ id, about }: { readonly id: string; readonly about: ConversationAbout | undefined }) => (
  <div class="head-facts figures">
    {about?.status !== undefined && <StatusWord status={about.status} />}
    {about?.model !== undefined && <span title={about.model}>{shortModel(about.model)}</span>}
    {about?.cost !== undefined && (
      <span title={about.isCostPartial ? 'The usage or the price of some calls is not known' : undefined}>
        {about.isCostPartial && 'at least '}
        <b>{dollars(about.cost)}</b>
      </span>
    )}
    {about?.tokens !== undefined && <Tokens about={about} />}
    {about?.begun !== undefined && (
      <span class="less" title={`${moment(about.begun)} – ${moment(about.updated)}`}>
        <b>{duration(Date.parse(about.updated) - Date.parse(about.begun))}</b>, {span(about)}
      </span>
    )}
    {about?.errors !== undefined && about.errors > 0 && <Errors id={id} about={about} />}
    <button
      type="button"
      class="quiet id-copy less"
      title={`Copy the id ${id}`}
      aria-label={`Copy the id ${id}`}
      onClick={() => copyText(id, 'Copied the id')}
    >
      <code>{shortId(id)}</code>
    </button>
  </div>
)

const Tokens = ({
  about: { tokens = 0, isMeasured, unrecorded = 0 },
}: {
  readonly about: ConversationAbout
}) => (
  <span>
    {isMeasured === false && 'about '}
    <b>{brief(tokens)}</b>
    <span class="less">
      {' tokens in context'}
      {unrecorded > 0 && `, ${brief(unrecorded)} of them not recorded (system, tools)`}
    </span>
  </span>
)

const Errors = ({ id, about }: { readonly id: string; readonly about: ConversationAbout }) => {
  const words = count(about.errors ?? 0, 'error')
  return (
    <a
      class="status-word is-failed"
      href={hrefs.conversation(id, { at: about.firstError, sel: about.firstError })}
    >
      <Glyph name="error" /> {words}
    </a>
  )
}

/** Formats the first and the last time: of one day with its times, else with the days. */
const span = ({ begun = '', updated }: ConversationAbout): string => {
  const [first, last] = [moment(begun), moment(updated)]
  const [day, time] = [first.slice(0, 10), (text: string) => text.slice(11, 16)]
  return day === last.slice(0, 10)
    ? `${time(first)} – ${time(last)}`
    : `${first.slice(0, 16)} – ${last.slice(0, 16)}`
}
