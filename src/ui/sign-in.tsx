import { useState } from 'preact/hooks'
import { problemOf, type Source } from './source/source.ts'

/** Exchanges a token for a cookie. It is kept nowhere in the page. */
const signIn = (source: Source, token: string): Promise<unknown> => source.post('/session', { token })

/** A token in the fragment (`#token=…`) is taken once, and removed from the address. */
export const signInByFragment = async (source: Source): Promise<void> => {
  const token = new URLSearchParams(location.hash.slice(1)).get('token')
  if (token === null) return
  history.replaceState(null, '', location.pathname + location.search)
  // A token that is not valid: the form is shown by the next answer.
  await signIn(source, token).catch(() => undefined)
}

/** Asks for a token where the server needs one. */
export const SignIn = ({ source, done }: { readonly source: Source; readonly done: () => void }) => {
  const [token, setToken] = useState('')
  const [error, setError] = useState<string>()
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault()
    try {
      await signIn(source, token)
      done()
    } catch (problem) {
      setError(problemOf(problem).detail)
    }
  }
  return (
    <form class="sign-in" onSubmit={(event) => void submit(event)}>
      <h1>Palimpsest</h1>
      <label>
        A token for this server
        <input
          type="password"
          name="token"
          autocomplete="current-password"
          value={token}
          onInput={(event) => setToken(event.currentTarget.value)}
        />
      </label>
      {error !== undefined && <p role="alert">{error}</p>}
      <button type="submit" class="primary" disabled={token === ''}>
        Sign in
      </button>
      <p class="faint">
        <code>palimpsest token create NAME --scopes read write</code> makes one.
      </p>
    </form>
  )
}
