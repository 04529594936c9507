import type { NewMessage } from '../../src/core.ts'

// A conversation that means harm to whoever looks at it. `gone` is an address that nobody may ask for.

const gone = 'http://127.0.0.1:9/gone'

const markup = [
  '<script>alert(1)</script>',
  `<script src="${gone}.js"></script>`,
  '</script><script>alert(2)</script>',
  '<!--<script>',
  `<img src=x onerror=alert(3)><img src="${gone}.png">`,
  '<svg onload=alert(4)><animate onbegin=alert(5) attributeName=x></svg>',
  '<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=alert(6)&gt;">',
  '<svg></p><style><a id="</style><img src=1 onerror=alert(7)>">',
  '<table><td><form><style></table><img src onerror=alert(8)>',
  `<iframe src="${gone}"></iframe><iframe srcdoc="<script>parent.alert(9)</script>"></iframe>`,
  `<form action="${gone}"><input name=a autofocus onfocus=alert(10)><button formaction="javascript:alert(11)">x</button></form>`,
  `<style>@import "${gone}.css"; * { background: url(${gone}) }</style><link rel=stylesheet href="${gone}.css">`,
  `<base href="${gone}/"><meta http-equiv=refresh content="0;url=${gone}"><object data="${gone}"></object>`,
]

const markdown = [
  '[look](javascript:alert(12)) [again](JaVaScRiPt&#58;alert(13)) [data](data:text/html,<script>alert(14)</script>)',
  `![picture](${gone}.png) ![x](x "onerror=alert(15)") <${gone}>`,
  `[ref]\n\n[ref]: javascript:alert(16)\n\n|a|b|\n|-|-|\n|<img src=x onerror=alert(17)>|![](${gone}/t.png)|`,
  '```html\n</code></pre><script>alert(18)</script>\n```',
  `<details open ontoggle=alert(19)><summary>x</summary></details>`,
]

/** The positions of messages with texts, which are Markdown if they are rendered. */
export const markedUp: readonly number[] = [0, 1, 3, 4]

/** A bidi override that makes `gnp.exe` look like `exe.png`, NUL, ESC, and what cannot be seen. */
export const disguised = 'run \u202Egnp.exe\u202C now \0 \u001B[31mred\u001B[0m \u200B\uFEFF\u2066x\u2069'

/** 5 MB in one line. */
export const longLine = 'all work and no play '.repeat(250_000)

const lines = markup.concat(disguised)
const patch = [
  '--- a/x',
  '+++ b/x',
  '@@ -1,9 +1,9 @@',
  ...lines.flatMap((text) => [`-${text}`, `+${text}`]),
].join('\n')

/** Inputs that are shown as diffs, code and trees. */
const forms = [
  {
    file_path: '<script>alert(24)</script>',
    old_string: lines.join('\n'),
    new_string: `${disguised}\n${markup[4]}`,
  },
  { file_path: disguised, edits: markup.map((text) => ({ old_string: text, new_string: disguised })) },
  { path: markup[0] ?? '', content: lines.join('\n') },
  { patch },
  { command: markup.join(' ').slice(0, 600) },
  { [markup[4] ?? '']: { __proto__x: lines, nested: { [disguised]: [markup, { deep: disguised }] } } },
]

/** Its messages, valid for the API. `<title>` is in its ids too, as far as ids can have that. */
export const hostile: readonly NewMessage[] = [
  { role: 'user', content: markup.join('\n') },
  {
    role: 'assistant',
    content: [
      { type: 'thinking', thinking: markup.join(' '), signature: '"><script>alert(20)</script>' },
      { type: 'text', text: markdown.join('\n\n') },
      ...markup.map((text, index) => ({
        type: 'tool_use' as const,
        id: `toolu_${index}`,
        name: index === 0 ? '__proto__' : 'constructor',
        input: { [text]: text, html: `"/><script>alert(21)</script>${disguised}` },
      })),
    ],
  },
  {
    role: 'user',
    content: markup.map((text, index) => ({
      type: 'tool_result' as const,
      tool_use_id: `toolu_${index}`,
      content: index === 0 ? longLine : index === 1 ? disguised : [{ type: 'text' as const, text }],
      is_error: index % 2 === 1,
    })),
  },
  {
    role: 'user',
    content: [
      { type: 'image', source: { type: 'url', url: `${gone}.png` } },
      {
        type: 'image',
        source: {
          type: 'base64',
          media_type: 'image/svg+xml',
          data: btoa('<svg xmlns="http://www.w3.org/2000/svg" onload="alert(22)"/>'),
        },
      },
      { type: 'text', text: disguised },
    ],
  },
  { role: 'assistant', content: markup.concat(markdown).join('\n\n') },
  // What is shown as chips, code, diffs and trees.
  {
    role: 'user',
    content: markup
      .concat(disguised)
      .map((text) => `<task-notification>${text}</task-notification>\n<system-reminder>\n${text}`)
      .join('</system-reminder>\n')
      .concat('\n</system-reminder>'),
  },
  {
    role: 'assistant',
    content: [
      ...['js', 'html', 'diff', 'bash', 'python"><script>alert(23)</script>'].map((language) => ({
        type: 'text' as const,
        text: `\`\`\`${language}\n${markup.concat(disguised).join('\n').slice(0, 600)}\n\`\`\``,
      })),
      ...forms.map((input, index) => ({
        type: 'tool_use' as const,
        id: `toolu_form_${index}`,
        name: 'Edit',
        input,
      })),
    ],
  },
  {
    role: 'user',
    content: forms.map((form, index) => ({
      type: 'tool_result' as const,
      tool_use_id: `toolu_form_${index}`,
      content: index === 0 ? patch : JSON.stringify(form),
    })),
  },
]
