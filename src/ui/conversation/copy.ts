import { announce } from '../announcer.tsx'
import { apiPathOf } from '../../server/client/api-path.ts'
import { linkTo } from '../router.ts'
import type { ApiSource } from '../source/source.ts'
import { textOf } from './kinds.ts'

const copied = (text: Promise<string>, done: string): void => {
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(await text)
    announce(done)
  }
  copy().catch(() => announce('The browser did not allow this page to copy'))
}

export const copyLink = (href: string): void =>
  copied(Promise.resolve(linkTo(href)), 'Copied a link to this view')

export const copyCommand = (command: string): void => copied(Promise.resolve(command), 'Copied the command')

/** Copies the text of an event to the clipboard, or the event's data as JSON if it has no text. */
export const copyContent = (source: ApiSource, id: string, position: number): void => {
  const text = async (): Promise<string> => {
    const event = await source.get(apiPathOf('/conversations/{id}/events/{position}', { id, position }))
    const content =
      event.type === 'MessageAppended'
        ? event.data.content
        : event.type === 'Condensed'
          ? event.data.summary.flatMap((one) => one.content)
          : []
    return content.length > 0 ? textOf(content) : JSON.stringify(event.data, undefined, 2)
  }
  copied(text(), `Copied the content of ${position}`)
}
