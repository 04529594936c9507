import { copyText } from '../copy-text.ts'
import { apiPathOf } from '../../server/client/api-path.ts'
import { linkTo } from '../router.ts'
import type { ApiSource } from '../source/source.ts'
import { textOf } from './kinds.ts'

export const copyLink = (href: string): void => copyText(linkTo(href), 'Copied a link to this view')

export const copyCommand = (command: string): void => copyText(command, 'Copied the command')

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
  copyText(text(), `Copied the content of ${position}`)
}
