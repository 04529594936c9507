// What an editor shows where the mouse is on a name: each name above a line `//^ …` is hovered by hovers.test.ts, which compares it.
// Nothing of it runs.
import { openStore } from 'palimpsest'
import type { ContextSettings, SummarizerSettings, TurnOptions } from 'palimpsest'
import type { Command, ConversationCommand, NewMessage } from 'palimpsest/core'

const chat = (await openStore('memory:')).conversation('c')

const written = await chat.append({ role: 'user', content: 'Hello.' })
//    ^ const written: WriteResult
const { append } = chat
//      ^ const append: (message: MessageInput | readonly MessageInput[], options?: AppendOptions) => Promise<WriteResult>

for await (const event of chat.events()) {
  //             ^ const event: ConversationEvent
  const { data, metadata } = event
  //      ^ const data: CondensedData | Configuration | ErasedData | ForkedData | MessageAppendedData | RestoredData | RewoundData | TruncatedData
  //            ^ const metadata: Metadata
  const { actor } = metadata
  //      ^ const actor: Actor
  if (event.type === 'MessageAppended') {
    const appended = event
    //    ^ const appended: ConversationEventOf<"MessageAppended">
    const { content, origin } = event.data
    //      ^ const content: readonly Block[]
    //               ^ const origin: Origin | undefined
    const receipt = origin?.context
    //    ^ const receipt: Receipt | undefined
    void [appended, content, receipt]
  }
  if (event.type === 'Condensed') {
    const { summary, policy, view, covers, container } = event.data
    //      ^ const summary: readonly Message[]
    //               ^ const policy: Policy | undefined
    //                       ^ const view: View | undefined
    //                             ^ const covers: Covers
    //                                     ^ const container: Container | undefined
    void [summary, policy, view, covers, container]
  }
  void [data, actor]
}

const [item] = await chat.effective()
//     ^ const item: Item | undefined
if (item?.kind === 'message') {
  const [block] = item.content
  //     ^ const block: Block | undefined
  if (block?.type === 'text') {
    const text = block
    //    ^ const text: TextBlock
    void text
  }
}

const [entry] = await chat.full({ abandoned: true })
//     ^ const entry: Entry | undefined
if (entry?.kind === 'summary') {
  const condensed = entry
  //    ^ const condensed: SummaryItem & EntryState
  void condensed
}
const [noted] = await chat.full({ notes: true })
if (noted?.kind === 'note') {
  const note = noted
  //    ^ const note: NotedEntry
  void note
}

const { messages, tools } = await chat.render()
//      ^ const messages: RequestMessage[]
//                ^ const tools: RequestTool[] | undefined
const { changes } = await chat.diff({ from: 0 })
//      ^ const changes: readonly DiffChange[]
const { configuration } = (await chat.context()).layout
//      ^ const configuration: Configuration | undefined
const { context } = {} as TurnOptions
//      ^ const context: SomeOf<ContextSettings> | undefined
declare const settings: ContextSettings
//            ^ const settings: ContextSettings
declare const summarizing: SummarizerSettings
//            ^ const summarizing: SummarizerSettings
declare const message: NewMessage
//            ^ const message: NewMessage
declare const command: ConversationCommand
//            ^ const command: ConversationCommand
if (command.type === 'condense') {
  const condense = command
  //    ^ const condense: CondenseCommand
  const { summary, covers, origin } = condense
  //      ^ const summary: Summary
  //               ^ const covers: Covers | undefined
  //                       ^ const origin: Origin | undefined
  void [summary, covers, origin]
}
declare const appending: Command<'append'>
//            ^ const appending: AppendCommand
void [
  command,
  appending,
  written,
  append,
  messages,
  tools,
  changes,
  configuration,
  context,
  settings,
  summarizing,
  message,
]
