import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { apiPathOf } from '../server/client/api-path.ts'
import type { AccessRefusal } from './source/http.ts'
import { problemOf, type ApiSource } from './source/source.ts'

/** Exchanges a token for a session cookie. The page does not store the token. */
export const signIn = (source: ApiSource, token: string): Promise<unknown> =>
  source.post(apiPathOf('/session'), { token })

/** Removes a token in the fragment (`#token=…`) from the address and returns it; undefined if there is none. */
const takeToken = (): string | undefined => {
  const token = new URLSearchParams(location.hash.slice(1)).get('token')
  if (token === null) return undefined
  history.replaceState(null, '', location.pathname + location.search)
  return token
}

/** Signs in with a token in the fragment. */
export const signInByFragment = async (source: ApiSource): Promise<void> => {
  const token = takeToken()
  // If the token is invalid, the next refused request shows the form.
  if (token !== undefined) await signIn(source, token).catch(() => undefined)
}

/** Calls `use` with the token of a link that is opened in this tab. The browser changes only the fragment then, and loads nothing. */
export const useTokenLink = (use: ((token: string) => void) | undefined): void =>
  useEffect(() => {
    if (use === undefined) return undefined
    const takeLink = (): void => {
      const token = takeToken()
      if (token !== undefined) use(token)
    }
    addEventListener('hashchange', takeLink)
    return () => removeEventListener('hashchange', takeLink)
  })

interface SignInProps {
  readonly source: ApiSource
  readonly why: AccessRefusal
  readonly done: () => void
}

const reasons: Readonly<Record<AccessRefusal, string | undefined>> = {
  'no-token': undefined,
  'no-longer': 'Your token is no longer valid here. Sign in again to continue where you were.',
  'may-not-read': 'This token does not allow reading: the page needs a token with the scope read.',
}

/** Shows a form that asks for a token. The form covers the whole page, including an open sheet, but the input in that sheet is kept. */
export const SignIn = ({ source, why, done }: SignInProps) => {
  const [token, setToken] = useState('')
  const [error, setError] = useState<string>()
  const dialog = useRef<HTMLDialogElement>(null)
  const show = (): void => dialog.current?.showModal()
  useLayoutEffect(show, [])
  const submit = async (given: string): Promise<void> => {
    try {
      await signIn(source, given)
      done()
    } catch (problem) {
      setError(problemOf(problem).detail)
    }
  }
  useTokenLink((given) => void submit(given))
  return (
    <dialog ref={dialog} class="sign-in-page" aria-label="Sign in" onClose={show}>
      <main>
        <form
          class="sign-in"
          onSubmit={(event) => {
            event.preventDefault()
            void submit(token)
          }}
        >
          <h1>Palimpsest</h1>
          {reasons[why] !== undefined && <p role="status">{reasons[why]}</p>}
          <label>
            A token for this server
            <input
              type="password"
              name="token"
              autocomplete="current-password"
              autofocus
              value={token}
              onInput={(event) => setToken(event.currentTarget.value)}
            />
          </label>
          {error !== undefined && (
            <p class="refusal" role="alert">
              {error}
            </p>
          )}
          <button type="submit" class="primary" disabled={token === ''}>
            Sign in
          </button>
          <p class="faint">
            <code>palimpsest serve token create NAME</code> makes one, <code>--scopes read</code> one that
            only reads.
          </p>
        </form>
      </main>
    </dialog>
  )
}
