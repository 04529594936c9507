import type { AnyBlock } from '../../../src/events/blocks.ts'
import { text, thinking, toolResult, toolUse } from '../log.ts'
import { imageOf, pictures, png } from '../pictures.ts'
import { asks, haiku, hello, type Messages, says, yes } from './client.ts'

// Small requests: those that break one rule, with the text of the error, and those that are as near to it as may be.

export type Fields = Readonly<Record<string, unknown>>

const marked = (block: AnyBlock, ttl = '5m'): AnyBlock => ({
  ...block,
  cache_control: { type: 'ephemeral', ttl },
})
const system = (...content: readonly AnyBlock[]) => ({ role: 'system', content })
const rule = system(text('Be brief.'))
const sets = (effort: unknown, more: Fields = {}) => ({
  role: 'system',
  content: [],
  output_config: { effort, ...more },
})
const low = sets('low')
export const search: AnyBlock = { type: 'server_tool_use', id: 's', name: 'web_search', input: {} }
export const found: AnyBlock = { type: 'web_search_tool_result', tool_use_id: 's', content: [] }
const compaction: AnyBlock = { type: 'compaction', content: 'All of it.' }
/** A call that the server tool's program makes. */
const programmed = (id: string): AnyBlock => ({
  ...toolUse(id),
  caller: { type: 'code_execution', tool_id: 's' },
})
const image = imageOf
const images = (count: number, each: AnyBlock): readonly AnyBlock[] =>
  Array.from({ length: count }, () => each)
const imageData = 'messages.0.content.0.image.source.base64.data'
export const call = says(toolUse('a'))
const done = asks(toolResult('a'))

export const unanswered =
  '`tool_use` ids were found without `tool_result` blocks immediately after: a. Each `tool_use` block must have a corresponding `tool_result` block in the next message.'
const unexpected =
  'unexpected `tool_use_id` found in `tool_result` blocks: a. Each `tool_result` block must have a corresponding `tool_use` block in the previous message.'
const emptyMessage =
  'all messages must have non-empty content except for the optional final assistant message'
export const noPrefill =
  'This model does not support assistant message prefill. The conversation must end with a user message.'
const unserved =
  'messages.1.content.0: `web_search` tool use with id `s` was found without a corresponding `web_search_tool_result` block'
const misplaced = 'a `compaction` block must be the first block of the conversation'

/** The rule, what the request does, its messages and other fields, the text of the error. */
type Broken = readonly [number, string, Messages, string, Fields?]

const brokenOnes: readonly Broken[] = [
  [
    0,
    'holds half a character',
    [asks(text('half \ud83d'))],
    'The request body is not valid JSON: no low surrogate in string',
  ],
  [0, 'has no messages', undefined as never, 'messages: Field required'],
  [
    0,
    'has a text without its text',
    [asks({ type: 'text' })],
    'messages.0.content.0.text.text: Field required',
  ],
  [
    0,
    'says who never speaks',
    [{ role: 'tool', content: 'x' }],
    "messages.0.role: Input should be 'user', 'assistant' or 'system'",
  ],
  [
    0,
    'sets the effort in a user message',
    [{ ...hello, output_config: { effort: 'low' } }],
    'messages.0.output_config: Extra inputs are not permitted',
  ],
  [
    0,
    'sets an effort that does not exist',
    [hello, sets('some')],
    "messages.1.output_config.effort: Input should be 'low', 'medium', 'high', 'xhigh' or 'max'",
  ],
  [
    0,
    'sets the format of one message',
    [hello, sets('low', { format: {} })],
    'messages.1.output_config.format: Extra inputs are not permitted',
  ],
  [
    0,
    'sets the effort before all messages',
    [low, hello],
    'messages: first message must use the "user" role',
  ],
  [0, 'sets the effort between call and result', [hello, call, low, done], `messages.1: ${unanswered}`],
  [
    0,
    'sets the effort beside a system message that the user follows',
    [hello, rule, low, hello],
    'messages.1: a system message must be the last message or be followed by an assistant message',
  ],
  [
    0,
    'has two system messages with content, and one without between them',
    [hello, rule, low, rule],
    'messages.3: consecutive system messages are not allowed',
  ],
  [
    0,
    'has a system message with neither content nor settings',
    [hello, sets(null)],
    `messages.1: ${emptyMessage}`,
  ],
  [0, 'sets the effort after the last reply', [hello, yes, low], noPrefill],
  [0, 'has no max_tokens', [hello], 'max_tokens: Field required', { max_tokens: undefined }],

  [1, 'has no message', [], 'messages: at least one message is required'],
  [1, 'begins with the assistant', [yes, hello], 'messages: first message must use the "user" role'],
  [1, 'begins with a system message', [rule, hello], 'messages: first message must use the "user" role'],
  [
    1,
    'begins with a failed compaction',
    [says({ ...compaction, content: null }), hello],
    'messages: first message must use the "user" role',
  ],

  [
    2,
    'has a system message after the assistant',
    [hello, yes, rule, yes, hello],
    'messages.2: a system message must follow a user message',
  ],
  [
    2,
    'has two system messages in a row',
    [hello, rule, rule],
    'messages.2: consecutive system messages are not allowed',
  ],
  [
    2,
    'has a system message before the user',
    [hello, rule, hello],
    'messages.1: a system message must be the last message or be followed by an assistant message',
  ],
  [
    2,
    'has a system message for a model without them',
    [hello, rule],
    'messages: Unexpected role "system". The Messages API accepts a top-level `system` parameter, not "system" as an input message role.',
    { model: haiku },
  ],

  [3, 'has a message without a block', [hello, says(), hello], `messages.1: ${emptyMessage}`],
  [3, 'has a message of an empty string', [{ role: 'user', content: '' }], `messages.0: ${emptyMessage}`],
  [
    3,
    'has an empty text',
    [asks(text('a'), text(''))],
    'messages.0.content.1: text content blocks must be non-empty',
  ],
  [
    3,
    'has a blank text',
    [{ role: 'user', content: ' \n' }],
    'messages.0.content.0: text content blocks must contain non-whitespace text',
  ],
  [
    3,
    'has an empty text in a tool result',
    [hello, call, asks(toolResult('a', [text('')]))],
    'messages.2.content.0.tool_result.content.0: text content blocks must be non-empty',
  ],
  [
    3,
    'has a blank system prompt',
    [hello],
    'system.0: text content blocks must contain non-whitespace text',
    { system: ' ' },
  ],
  [
    3,
    'has an empty system block',
    [hello],
    'system.1: text content blocks must be non-empty',
    { system: [text('a'), text('')] },
  ],

  [
    4,
    'has thinking of the user',
    [asks(thinking('s'), text('Hello.'))],
    'messages.0.content.0: `thinking` blocks are not allowed in user content',
  ],
  [
    4,
    'has a call of the user',
    [asks(toolUse('a'))],
    'messages.0.content.0: `tool_use` blocks are not allowed in user content',
  ],
  [
    4,
    'has a result of the assistant',
    [hello, says(toolResult('a')), hello],
    'messages.1.content.0: `tool_result` blocks are not allowed in assistant content',
  ],
  [
    4,
    'has a document of the assistant',
    [hello, says({ type: 'document', source: {} }), hello],
    'messages.1.content.0: `document` blocks are not allowed in assistant content',
  ],
  [
    4,
    'replays a container upload',
    [hello, says({ type: 'container_upload', file_id: 'f' }), hello],
    'messages.1.content.0: `container_upload` blocks are not allowed in assistant content',
  ],
  [
    4,
    'has a block that nobody knows',
    [asks({ type: 'future_block' })],
    "messages.0.content.0: Input tag 'future_block' found using 'type' does not match any of the expected tags",
  ],
  [
    4,
    'has an image in a system message',
    [hello, system({ type: 'image' })],
    'messages.1.content.0: `image` blocks are not allowed in system content',
  ],
  [
    4,
    'has an image in the system prompt',
    [hello],
    "system.0.type: Input should be 'text'",
    { system: [{ type: 'image' }] },
  ],
  [
    4,
    'has a call inside a result',
    [hello, call, asks(toolResult('a', [toolUse('b')]))],
    'messages.2.content.0.tool_result.content.0: `tool_use` blocks are not allowed in tool_result content',
  ],
  [
    4,
    'has citations on a user text',
    [asks({ ...text('Hello.'), citations: [] })],
    'messages.0.content.0.text.citations: Extra inputs are not permitted',
  ],

  [5, 'has a call without a result', [hello, call, hello], `messages.1: ${unanswered}`],
  [5, 'ends with a call', [hello, call], `messages.1: ${unanswered}`],
  [
    5,
    'has a result behind other content',
    [hello, call, asks(text('Well.'), toolResult('a'))],
    `messages.1: ${unanswered}`,
  ],
  [5, 'has a system message between call and result', [hello, call, rule, done], `messages.1: ${unanswered}`],
  [
    5,
    'has a result of one of two calls',
    [hello, says(toolUse('a'), toolUse('b')), asks(toolResult('b'))],
    `messages.1: ${unanswered}`,
  ],
  [
    5,
    'has two results of one call',
    [hello, call, asks(toolResult('a'), toolResult('a'))],
    'messages.2.content.1: each tool_use must have a single result. Found multiple `tool_result` blocks with id: a',
  ],

  [6, 'begins with a result', [done], `messages.0.content.0: ${unexpected}`],
  [6, 'has a result without a call', [hello, yes, done], `messages.2.content.0: ${unexpected}`],
  [
    6,
    'has a result of an earlier call',
    [hello, call, done, yes, done],
    `messages.4.content.0: ${unexpected}`,
  ],

  [
    7,
    'has an id twice',
    [hello, call, done, call, done],
    'messages.3.content.0: `tool_use` ids must be unique',
  ],
  [
    7,
    'has an id with a blank',
    [hello, says(toolUse('a b')), asks(toolResult('a b'))],
    "messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
  ],
  [
    7,
    'has an input that is no object',
    [hello, says(toolUse('a', [])), done],
    'messages.1.content.0.tool_use.input: Input should be an object',
  ],

  [
    8,
    'has a server tool use without its result',
    [hello, says(search), hello],
    'messages.1.content.0: `web_search` tool use with id `s` was found without a corresponding `web_search_tool_result` block',
  ],
  [
    8,
    'has a server tool result in the next turn',
    [hello, says(search), hello, says(found), hello],
    'messages.1.content.0: `web_search` tool use with id `s` was found without a corresponding `web_search_tool_result` block',
  ],
  [
    8,
    'has a server tool use that waits, and a user who says something beside the results',
    [hello, says(search, toolUse('a')), asks(toolResult('a'), text('Well?'))],
    unserved,
  ],
  [
    8,
    'has a server tool use that the next message does not begin with the result of',
    [hello, says(search, toolUse('a')), done, says(text('So.'), found), hello],
    unserved,
  ],
  [
    8,
    'has a server tool use that the next message has no result of',
    [hello, says(search, toolUse('a')), done, says(toolUse('b')), asks(toolResult('b'))],
    unserved,
  ],
  [8, 'has a server tool use that waits in a prefill', [hello, says(search)], unserved, { model: haiku }],
  [
    8,
    'has two server tool uses with one id',
    [hello, says(search, search, found), hello],
    'messages.1.content.1: `server_tool_use` ids must be unique',
  ],
  [
    8,
    'has a server tool result without its use',
    [hello, says(found), hello],
    'messages.1.content.0: unexpected `tool_use_id` found in `web_search_tool_result` blocks: s. Each `web_search_tool_result` block must have a corresponding `server_tool_use` block before it.',
  ],
  [
    8,
    'has a server tool result before its use',
    [hello, says(found, search), hello],
    'messages.1.content.0: unexpected `tool_use_id` found in `web_search_tool_result` blocks: s. Each `web_search_tool_result` block must have a corresponding `server_tool_use` block before it.',
  ],
  [
    8,
    'has two results of a server tool use',
    [hello, says(search, found, found), hello],
    'messages.1.content.2: unexpected `tool_use_id` found in `web_search_tool_result` blocks: s. Each `web_search_tool_result` block must have a corresponding `server_tool_use` block before it.',
  ],
  [
    8,
    'has an MCP tool use without its result',
    [hello, says({ ...search, type: 'mcp_tool_use' }), hello],
    'messages.1.content.0: `mcp` tool use with id `s` was found without a corresponding `mcp_tool_result` block',
  ],

  [9, 'ends with the assistant', [hello, yes], noPrefill],
  [9, 'ends with an empty assistant message', [hello, says()], noPrefill],
  [
    9,
    'is a prefill that ends in white space',
    [hello, says(text('Yes '))],
    'messages: final assistant content cannot end with trailing whitespace',
    { model: haiku },
  ],

  [
    10,
    'has a message that ends in thinking',
    [hello, says(thinking('s')), hello],
    'messages.1: The final block in an assistant message cannot be `thinking`.',
  ],
  [
    10,
    'has a message that ends in redacted thinking',
    [hello, says(text('a'), { type: 'redacted_thinking', data: 's' }), hello],
    'messages.1: The final block in an assistant message cannot be `thinking`.',
  ],

  [
    13,
    'has a compaction that is not first',
    [hello, says(compaction), hello],
    `messages.1.content.0: ${misplaced}`,
  ],
  [
    13,
    'has a failed compaction of the user in the middle',
    [asks(text('a'), { ...compaction, content: null })],
    `messages.0.content.1: ${misplaced}`,
  ],
  [
    13,
    'has a compaction in a system message',
    [hello, system(compaction)],
    `messages.1.content.0: ${misplaced}`,
  ],
  [
    13,
    'has two compactions',
    [asks(compaction, compaction)],
    'messages: more than one `compaction` block with content. Send only the block the conversation returned last.',
  ],
  [
    0,
    'has an empty compaction',
    [asks({ ...compaction, content: '' })],
    'messages.0.content.0.compaction.content: String should have at least 1 character',
  ],

  [
    14,
    'has five breakpoints',
    [asks(...['a', 'b', 'c', 'd', 'e'].map((value) => marked(text(value))))],
    'A maximum of 4 blocks with cache_control may be provided. Found 5.',
  ],
  [
    14,
    'has five breakpoints in all its parts',
    [hello, call, asks(marked(toolResult('a', [marked(text('in'))])), marked(text('b')))],
    'A maximum of 4 blocks with cache_control may be provided. Found 5.',
    { system: [marked(text('a'))], tools: [marked({ type: 'custom', name: 'run' })] },
  ],
  [
    14,
    'has a breakpoint on thinking',
    [hello, says(marked(thinking('s')), text('a')), hello],
    'messages.1.content.0.thinking.cache_control: Extra inputs are not permitted',
  ],
  [
    14,
    'has a breakpoint on an empty text',
    [asks(marked(text('')))],
    'messages.0.content.0.text: cache_control cannot be set for empty text blocks',
  ],
  [
    14,
    'has a long-lived breakpoint after a short one',
    [asks(marked(text('a')), marked(text('b'), '1h'))],
    "messages.0.content.1.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. Note that blocks are processed in the following order: `tools`, `system`, `messages`.",
  ],
  [
    17,
    'has an image of 9,000 pixels',
    [asks(image(png(9_000, 9)))],
    `${imageData}: At least one of the image dimensions exceed max allowed size: 8000 pixels`,
  ],
  [
    17,
    'has an image of 2,400 pixels in a result, among 21',
    [hello, call, asks(toolResult('a', images(21, image(png(2_400, 9)))))],
    'messages.2.content.0.tool_result.content.0.image.source.base64.data: At least one of the image dimensions exceed max allowed size for many-image requests: 2000 pixels',
  ],
  [
    17,
    'has an image that is called another type',
    [asks(image(pictures.gif))],
    `${imageData}: Image does not match the provided media type image/png`,
  ],
  [
    17,
    'has an image of a type that models do not take',
    [asks(image(pictures.gif, 'image/bmp'))],
    "messages.0.content.0.image.source.base64.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'",
  ],
  [
    17,
    'has an image that is a text',
    [asks(image(Buffer.from('A text.')))],
    `${imageData}: Could not process image`,
  ],
  [
    17,
    'has an image that is cut off',
    [asks(image(png().subarray(0, 21)))],
    `${imageData}: Could not process image`,
  ],
  [
    17,
    'has an image with the beginning of a data URL',
    [asks(image(`data:image/gif;base64,${pictures.gif}`))],
    `${imageData}: Invalid base64 data`,
  ],
  [
    17,
    'has an image of more than 5 MB of base64',
    [asks(image(png(40, 30, 4_000_000)))],
    'messages.0.content.0.image.source.base64: image exceeds 5 MB maximum: 5333452 bytes > 5242880 bytes',
  ],
  [
    18,
    'has 101 images and a document',
    [
      asks(
        { type: 'document', source: { type: 'url', url: 'https://example.org/a.pdf' } },
        ...images(101, image(png())),
      ),
    ],
    'too many images and documents: 101 + 1 > 100',
    { model: haiku },
  ],
]

export const broken = brokenOnes.map(
  ([number, title, messages, error, more = {}]) => [number, title, messages, error, more] as const,
)

const fineOnes: readonly (readonly [string, Messages, Fields?])[] = [
  ['that sets the effort after the user', [hello, low]],
  ['that sets the effort before the user, as in a summary', [hello, low, hello, yes, low, hello]],
  ['that sets the effort twice in a row', [hello, low, sets('max')]],
  ['that sets the effort after a system message', [hello, rule, low, yes, hello]],
  ['that sets the effort before a system message', [hello, low, rule]],
  ['that sets the effort in a system message', [hello, { ...rule, output_config: { effort: 'high' } }]],
  [
    'that sets the effort in a message without content',
    [hello, { role: 'system', output_config: { effort: 'high' } }],
  ],
  [
    'with images of every type, as many and as large as may be',
    [
      asks(
        image(png(8_000, 9)),
        image(pictures.jpeg, 'image/jpeg'),
        image(pictures.gif, 'image/gif'),
        ...[pictures.webp, pictures.lossless, pictures.transparent].map((data) => image(data, 'image/webp')),
        ...images(14, image(png(2_400, 9))),
      ),
    ],
  ],
  ['with 100 images', [asks(...images(100, image(png(2_000, 9))))]],
  ['with texts as strings', [{ role: 'user', content: 'Hello.' }], { system: 'Be brief.' }],
  [
    'with messages of one role in a row, which are combined',
    [hello, hello, says(toolUse('a')), says(toolUse('b')), done, asks(toolResult('b'), text('Well?'))],
  ],
  [
    'with results in another order, and other content behind them',
    [
      hello,
      says(toolUse('a'), toolUse('b')),
      asks(toolResult('b', ''), toolResult('a', [{ type: 'tool_reference', tool_name: 'x' }]), {
        type: 'image',
        source: {},
      }),
    ],
  ],
  ['with system messages at the end and before the assistant', [hello, rule, yes, hello, rule]],
  ['with a system message after results', [hello, call, done, rule]],
  [
    'with a server tool use whose result comes after a tool round',
    [hello, says(search, toolUse('a')), done, says(found, text('So.')), hello],
  ],
  ['with a server tool use that waits for a tool round', [hello, says(search, toolUse('a')), done]],
  [
    'with a server tool use whose program calls tools, round after round',
    [
      hello,
      says(search, programmed('a')),
      asks(toolResult('a')),
      says(programmed('b')),
      asks(toolResult('b')),
      says(found, text('So.')),
      hello,
    ],
  ],
  [
    'with one id for a server tool in two turns',
    [hello, says(search, found), hello, says(search, found), hello],
  ],
  [
    'with fields and citations that are kept',
    [hello, says({ ...text('Yes.'), citations: [], caller: { type: 'direct' } }), hello],
  ],
  [
    'with a failed compaction of the assistant',
    [hello, says({ ...compaction, content: null }, text('a')), hello],
  ],
  [
    'with four breakpoints, the long-lived ones first',
    [asks(marked(text('a'), '1h'), marked(text('b')), text('c'))],
    { system: [marked(text('a'), '1h')], tools: [marked({ type: 'custom', name: 'run' }, '1h')] },
  ],
  ['with a breakpoint that is null', [asks({ ...text('a'), cache_control: null })]],
  ['with a prefill', [hello, says(text('The answer is'))], { model: haiku }],
  ['with an empty final assistant message', [hello, says()], { model: haiku }],
  ['with a text that reads like half a character', [asks(text('\\ud83d 😀'))]],
]

export const fine = fineOnes.map(([title, messages, more = {}]) => [title, messages, more] as const)
