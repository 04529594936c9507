import type { RequestHead } from './request-input.ts'
import { requestError } from './problem.ts'

// Checks of every request. They protect against pages of other origins and against DNS rebinding.

export const safeHeaders: Readonly<Record<string, string>> = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self' blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
}

const nameOf = (host: string): string => host.replace(/:\d{1,5}$/, '').toLowerCase()

/** Host names that always refer to this machine, never to another one. */
export const loopback: readonly string[] = ['localhost', '127.0.0.1', '[::1]']

/**
 * Makes a function that checks the host and origin of a request. The function throws `HostRefused` or `OriginRefused`.
 *
 * @param hosts host names by which clients may call the server
 */
export const guard =
  (hosts: readonly string[]) =>
  (req: RequestHead): void => {
    const host = req.header('host') ?? ''
    if (!hosts.includes(nameOf(host)))
      throw requestError(
        'HostRefused',
        `this server does not accept the host name ${host || '(none)'}: allow it with --allow-host`,
      )
    const site = req.header('sec-fetch-site')
    if (req.method === 'GET' || req.method === 'HEAD') {
      // Pages of other origins may link to this server; their other requests are refused.
      const isOther = site === 'cross-site' || site === 'same-site'
      const isLink = req.header('sec-fetch-mode') === 'navigate' && !req.path.startsWith('/api/')
      if (isOther && !isLink)
        throw requestError('OriginRefused', 'pages of other origins may not read from this server')
      return
    }
    const origin = req.header('origin')
    const isOwn = origin === undefined || originHost(origin) === host.toLowerCase()
    if (!isOwn || site === 'cross-site')
      throw requestError('OriginRefused', 'pages of other origins may not write to this server')
  }

const originHost = (origin: string): string | undefined => {
  try {
    return new URL(origin).host
  } catch {
    return undefined
  }
}
