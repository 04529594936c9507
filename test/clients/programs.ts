// The programs that `npm run clients` installs, and where.
import { hash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'

export interface ClientProgram {
  readonly package: string
  readonly version: string
  /** Megabytes on disk, about. */
  readonly size: number
  /** The command to start, absent for a library. */
  readonly command?: string
}

export type ClientName = keyof typeof programs

/** The pinned clients by name. None of them is part of this repository or of the package. */
export const programs = {
  'claude-code': { package: '@anthropic-ai/claude-code', version: '2.1.332', size: 390, command: 'claude' },
  'agent-sdk': { package: '@anthropic-ai/claude-agent-sdk', version: '0.3.332', size: 460 },
  codex: { package: '@openai/codex', version: '0.171.0', size: 430, command: 'codex' },
  pi: { package: '@earendil-works/pi-coding-agent', version: '1.6.0', size: 170, command: 'pi' },
  opencode: { package: 'opencode-ai', version: '1.18.33', size: 360, command: 'opencode' },
} as const satisfies Record<string, ClientProgram>

/** The cache folder: `PALIMPSEST_CLIENTS`, or one in the user's own cache. */
export const clientsFolder = (): string =>
  process.env['PALIMPSEST_CLIENTS'] ??
  join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'palimpsest', 'clients')

/** The version of a client in `folder`, undefined if it is not installed there. */
export const installedVersion = (folder: string, name: ClientName): string | undefined => {
  const manifest = join(folder, name, 'node_modules', programs[name].package, 'package.json')
  if (!existsSync(manifest)) return undefined
  return (JSON.parse(readFileSync(manifest, 'utf8')) as { version: string }).version
}

/** The path of a client's command. Undefined if the pinned version is not installed. */
export const clientCommand = (name: Exclude<ClientName, 'agent-sdk'>): string | undefined =>
  installedVersion(clientsFolder(), name) === programs[name].version
    ? join(clientsFolder(), name, 'node_modules', '.bin', programs[name].command)
    : undefined

/** The path of the main module of the Claude Agent SDK. Undefined if the pinned version is not installed. */
export const agentSdk = (): string | undefined =>
  installedVersion(clientsFolder(), 'agent-sdk') === programs['agent-sdk'].version
    ? join(clientsFolder(), 'agent-sdk', 'node_modules', programs['agent-sdk'].package, 'sdk.mjs')
    : undefined

/** The checks for stores of sessions that the repository of the Claude Agent SDK has as an example. */
export const sessionStoreChecksFile = {
  url: 'https://raw.githubusercontent.com/anthropics/claude-agent-sdk-typescript/bfa6b845963696edcb743eca7ba1461c11310947/examples/session-stores/shared/conformance.ts',
  sha256: 'c141e6aed9787438bf4006b6acfdf9d0e376d64ca467ff56fef784648f13d255',
  path: join('session-stores', 'conformance.ts'),
} as const

/** The path of these checks. Undefined if they are not in the cache. */
export const sessionStoreChecks = (): string | undefined => {
  const path = join(clientsFolder(), sessionStoreChecksFile.path)
  const isThere = existsSync(path) && hash('sha256', readFileSync(path)) === sessionStoreChecksFile.sha256
  return isThere ? path : undefined
}
