import { contentOf, effective, type Log } from '../../../core.ts'
import { createLaterReader, messagesIn } from '../../../investigate/later-messages.ts'
import { type MarkerStory, tellStory } from '../../../investigate/marker-story.ts'
import { wordsOf } from '../../../investigate/terms.ts'
import { hiddenEventsOf } from './hidden-states.ts'

/** Maximum number of the hidden messages that are read, the newest ones, and of kept messages, as on the server. */
const mostHidden = 4_000
const mostKept = 500

/** Tells what a marker hid and what its summary lost, in the format of the server's `markers` route; undefined without a marker. */
export const storyOf = async (
  conversation: string,
  events: Log,
  marker: number,
): Promise<MarkerStory | undefined> => {
  const event = events[marker]
  if (event?.type !== 'Condensed' && event?.type !== 'Truncated') return undefined
  const covered = hiddenEventsOf(events, marker)
    .filter(({ type }) => type === 'MessageAppended')
    .toSorted((one, other) => one.position - other.position)
  const hidden = covered.slice(-mostHidden)
  const reader = createLaterReader(marker)
  for (const next of events.slice(marker + 1)) if (!reader.take(next)) break
  const { messages, isAll } = reader.read()
  const { items, layout } = effective(events, marker)
  const kept = items.flatMap((item) => (item.kind === 'message' ? [wordsOf(item.content)] : []))
  const { system, tools } = layout.configuration ?? {}
  return {
    conversation,
    marker,
    kind: event.type === 'Condensed' ? 'condensed' : 'truncated',
    messages: covered.length,
    ...(await tellStory({
      hidden: hidden.flatMap(messagesIn),
      later: messages,
      summary: contentOf(event)
        .map(({ content }) => wordsOf(content))
        .join('\n'),
      kept: [...kept.slice(-mostKept), JSON.stringify([system, tools])].join('\n'),
    })),
    examined: {
      hidden: hidden.length,
      later: messages.length,
      isAll: hidden.length === covered.length && isAll,
    },
  }
}
