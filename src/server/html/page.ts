import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { toError } from '../../result/typed-error.ts'
import { holder } from '../../ui/source/embedded/form.ts'
import { builtFolder } from '../page.ts'
import { hashOf, headOf } from './head.ts'

// Self-contained HTML file that opens without a server: the page's script and style sheet, and one conversation.

/**
 * Script that unpacks and runs the code of the page. The code is compressed to a third of its size. It runs only if its hash is in the
 * content security policy.
 */
const starter = `
const text = document.getElementById('palimpsest-code').textContent
const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0))
const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'))
const code = await new Response(stream).text()
const policy = globalThis.trustedTypes?.createPolicy('palimpsest', { createScript: (own) => own })
const script = document.createElement('script')
script.type = 'module'
script.textContent = policy ? policy.createScript(code) : code
document.head.append(script)
`

/**
 * Escapes JSON so that an HTML parser does not interpret any of it as markup. A match must not span two pieces, so pieces must not
 * split a string.
 */
async function* inScript(pieces: AsyncIterable<string>): AsyncGenerator<string, void> {
  for await (const piece of pieces) yield piece.replaceAll(/<(?=!--|\/?script)/gi, String.raw`\u003c`)
}

/**
 * Reads the script and the style sheet of the built page. The licenses of the dependencies are added to the script as a comment.
 * Rejects with `PageMissing`.
 */
const builtFile = async (folder: URL): Promise<{ readonly code: string; readonly style: string }> => {
  const read = (name: string): Promise<string> => readFile(new URL(name, folder), 'utf8')
  try {
    const files = ['file.js', 'file.css', 'THIRD-PARTY-LICENSES.txt'].map(read)
    const [code = '', style = '', licenses = ''] = await Promise.all(files)
    return { code: `/*\n${licenses.replaceAll('*/', '* /')}\n*/\n${code}`, style }
  } catch (error) {
    const message = 'the page is not built: run npm run build:ui'
    throw toError({ _tag: 'PageMissing', message, cause: error })
  }
}

/**
 * Yields, in pieces, a self-contained HTML file with the page and the data of one conversation. Rejects with `PageMissing`.
 *
 * @param data an `EmbeddedFile` as JSON
 * @param folder folder of the built page; default: the package's
 */
export async function* htmlPage(
  title: string,
  data: AsyncIterable<string>,
  folder = builtFolder('ui-file/'),
): AsyncGenerator<string, void> {
  const { code, style } = await builtFile(folder)
  const policy = [
    "default-src 'none'",
    `script-src ${hashOf(starter)} ${hashOf(code)}`,
    `style-src ${hashOf(style)}`,
    'img-src blob: data:',
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
    'trusted-types palimpsest',
  ].join('; ')
  const json = inScript(data)
  // Reads the first piece now, so that an error is thrown before anything is written.
  const begun = await json.next()
  yield `${headOf({ title, policy, style })}
<body>
<div id="page"></div>
<noscript>This page needs JavaScript. The conversation is in it as JSON.</noscript>
<script type="application/json" id="${holder}">${begun.done ? '' : begun.value}`
  yield* json
  const zipped = await promisify(gzip)(code, { level: 9 })
  yield `</script>
<script type="text/plain" id="palimpsest-code">${zipped.toString('base64')}</script>
<script type="module">${starter}</script>
</body>
</html>
`
}
