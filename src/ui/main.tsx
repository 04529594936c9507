import './fonts.css'
import './theme.css'
import { render } from 'preact'
import { nameInvisible } from './blocks/foreign-text.tsx'
import { waitForMarkdown } from './blocks/shown.tsx'
import { followLinks } from './router.ts'
import { applyTheme } from './settings.ts'
import { Shell } from './shell.tsx'
import { signInByFragment } from './sign-in.tsx'
import { httpSource, type AccessRefusal } from './source/http.ts'
import { listenForKeys } from './use-keys.ts'

let unauthorized: ((why: AccessRefusal) => void) | undefined
const source = httpSource({ onUnauthorized: (why) => unauthorized?.(why) })

applyTheme()
nameInvisible()
followLinks()
listenForKeys()
const start = (): void => {
  const root = document.querySelector('#page')
  if (root) render(<Shell source={source} onUnauthorized={(tell) => (unauthorized = tell)} />, root)
}
// Begins to load what rows wait for; the rest of the page is there before.
void waitForMarkdown()
void signInByFragment(source).then(start)
