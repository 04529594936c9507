import './source/embedded/no-eval.ts'
import './theme.css'
import './file.css'
import { render } from 'preact'
import { nameInvisible } from './blocks/foreign-text.tsx'
import { loadMarkdown } from './blocks/shown.tsx'
import { go, linkInto } from './router.ts'
import { applyTheme } from './settings.ts'
import { Shell } from './shell.tsx'
import { embeddedFile } from './source/embedded/file.ts'
import type { EmbeddedFile } from './source/embedded/form.ts'
import { embeddedSource } from './source/embedded.ts'
import { hrefs } from './url.ts'
import { listenForKeys } from './use-keys.ts'
import { count } from './words.ts'

// Entry point of the single-file page that `palimpsest export --format html` writes: the same page, without a server.

/** Shows the time at which the file was made, the number of its events, and the number of redacted places. */
const CopyNote = ({ file: { events, written, redacted } }: { readonly file: EmbeddedFile }) => (
  <footer class="copy-note">
    A copy of {count(events.length, 'event')}, made {written.slice(0, 16).replace('T', ' ')} UTC.{' '}
    {redacted === undefined
      ? 'Nothing was redacted.'
      : `${count(redacted, 'place is', 'places are')} redacted.`}
  </footer>
)

const file = embeddedFile()
const root = document.querySelector('#page')
if (file && root) {
  applyTheme()
  nameInvisible()
  linkInto()
  listenForKeys()
  if (location.hash === '') go(hrefs.conversation(file.conversation), { replace: true })
  const source = embeddedSource(file)
  const start = (): void =>
    render(
      <>
        <Shell source={source} onUnauthorized={() => undefined} />
        <CopyNote file={file} />
      </>,
      root,
    )
  void loadMarkdown().then(start)
}
