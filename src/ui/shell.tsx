import { type ComponentChildren, Fragment } from 'preact'
import { useEffect, useErrorBoundary, useLayoutEffect, useState } from 'preact/hooks'
import { announce, Announcer } from './announcer.tsx'
import { waitForMarkdown } from './blocks/shown.tsx'
import { Header } from './header.tsx'
import './acts/acts.css'
import { forgetSession, sessionNumber } from './acts/session.ts'
import { ToastHost } from './acts/toast.tsx'
import { KeysSheet } from './keys-sheet.tsx'
import type { PageComponent } from './page.ts'
import { openPart, part } from './part.tsx'
import { go, usePlace } from './router.ts'
import { routeOf } from './routes.tsx'
import { nextTheme, set, setting } from './settings.ts'
import { closeSheet, openSheet, SheetHost } from './sheet.tsx'
import { SignIn, signIn, useTokenLink } from './sign-in.tsx'
import type { AccessRefusal } from './source/http.ts'
import type { ApiSource } from './source/source.ts'
import { Empty, Failed, Skeleton } from './states.tsx'
import { hrefs, type PageAddress } from './url.ts'
import { useActions } from './use-keys.ts'

interface ShellProps {
  readonly source: ApiSource
  /** Registers the function to call when the server asks for a token. */
  readonly onUnauthorized: (tell: (why: AccessRefusal) => void) => void
}

/** Shows the current page with its sheets, toasts and sign-in form. */
export const Shell = ({ source, onUnauthorized }: ShellProps) => {
  const [refused, setRefused] = useState<AccessRefusal>()
  // If several concurrent requests are refused, the first response gives the reason.
  onUnauthorized((why) => setRefused((before) => before ?? why))
  const place = usePlace()
  // A sheet belongs to the page on which it was opened.
  useLayoutEffect(closeSheet, [place.path])
  const [session, setSession] = useState(sessionNumber)
  const signedIn = (): void => {
    forgetSession()
    setSession(sessionNumber())
    setRefused(undefined)
  }
  // The form takes the link itself, and says if its token is invalid. Without the form, an invalid token changes nothing.
  const isSignedIn = source.isLive && refused === undefined
  useTokenLink(isSignedIn ? (token) => void signIn(source, token).then(signedIn, () => undefined) : undefined)
  useActions({
    keys: () => openSheet(<KeysSheet />),
    palette: openPalette,
    workers: source.isLive ? () => go(hrefs.workers) : undefined,
    conversations: () => go(hrefs.list),
    theme: () => announce(`Theme: ${nextTheme()}`),
    singleKeys: () => {
      const value = setting('single-keys') === 'on' ? 'off' : 'on'
      set('single-keys', value)
      announce(`Single-letter keys are ${value}`)
    },
  })
  return (
    <>
      {refused === undefined && (
        <Fragment key={session}>
          <Header source={source} path={place.path} />
          <Routed source={source} {...place} />
        </Fragment>
      )}
      <SheetHost />
      {refused !== undefined && <SignIn source={source} why={refused} done={signedIn} />}
      <ToastHost />
      <Announcer />
    </>
  )
}

/** Opens the command palette. Its code is loaded on first use. */
const openPalette = (): void => openPart(import('./palette/palette.tsx'), ({ Palette }) => <Palette />)

const loaded = new Map<string, PageComponent>()

const Routed = ({ source, path, search }: { readonly source: ApiSource } & PageAddress) => {
  const [error, reset] = useErrorBoundary()
  const [, setLoaded] = useState(0)
  const [failure, setFailure] = useState<unknown>()
  const route = routeOf(path)
  useEffect(() => {
    reset()
    setFailure(undefined)
    if (!route || !('load' in route) || loaded.has(route.path)) return
    const load = async (): Promise<void> => {
      const [page] = await Promise.all([part(route.load()), waitForMarkdown()])
      loaded.set(route.path, page)
      setLoaded(loaded.size)
    }
    load().catch(setFailure)
  }, [path])

  const problem: unknown = error ?? failure
  if (problem !== undefined)
    return (
      <Plain>
        <Failed error={problem} retry={() => location.reload()} />
      </Plain>
    )
  if (!route)
    return (
      <Plain>
        <Empty title="There is no such page">
          <p class="ways-on">
            <a href={hrefs.list}>All conversations</a>
            {source.isLive && <a href={hrefs.workers}>Workers</a>}
            {source.isLive && <a href={hrefs.audit()}>Audit</a>}
          </p>
        </Empty>
      </Plain>
    )
  const Shown = 'page' in route ? route.page : loaded.get(route.path)
  if (!Shown)
    return (
      <Plain>
        <Skeleton />
      </Plain>
    )
  // A different conversation or bisection is a new page; a different position is not.
  const { id = '', bisection = '' } = route.params
  const key = `${route.path} ${id} ${bisection}`
  return <Shown key={key} source={source} params={route.params} search={search} />
}

const Plain = ({ children }: { readonly children: ComponentChildren }) => (
  <main class="plain">{children}</main>
)
