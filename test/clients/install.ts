// npm run clients: installs the pinned clients into a cache folder outside the repository. What is there already stays.
import { execFileSync } from 'node:child_process'
import { hash } from 'node:crypto'
import { mkdirSync, mkdtempSync, renameSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import {
  type ClientName,
  clientsFolder,
  type ClientProgram,
  installedVersion,
  programs,
  sessionStoreChecks,
  sessionStoreChecksFile,
} from './programs.ts'

const root = resolve(import.meta.dirname, '../..')
const folder = resolve(clientsFolder())
const names = Object.keys(programs) as readonly ClientName[]

const say = (line: string): void => void process.stdout.write(`${line}\n`)

const stop = (line: string): never => {
  process.stderr.write(`${line}\n`)
  process.exit(1)
}

/** Starts the command with a HOME of its own, so that it finds and leaves nothing. Throws if it fails or says another version. */
const verify = (at: string, name: ClientName): void => {
  const { version, command }: ClientProgram = programs[name]
  if (installedVersion(at, name) !== version)
    throw new Error(`is ${installedVersion(at, name) ?? 'absent'}, not ${version}`)
  if (command === undefined) return
  const home = mkdtempSync(join(tmpdir(), 'palimpsest-clients-'))
  try {
    const said = execFileSync(join(at, name, 'node_modules', '.bin', command), ['--version'], {
      env: {
        HOME: home,
        TMPDIR: home,
        PATH: process.env['PATH'],
        CI: '1',
        DISABLE_AUTOUPDATER: '1',
        DO_NOT_TRACK: '1',
      },
      encoding: 'utf8',
      // Clients warn about a HOME in a temporary folder.
      stdio: ['ignore', 'pipe', 'ignore'],
      timeout: 120_000,
    })
    if (!said.includes(version)) throw new Error(`says ${said.trim()}, not ${version}`)
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
}

const isInstalled = (name: ClientName): boolean => {
  try {
    verify(folder, name)
    return true
  } catch {
    return false
  }
}

/** Installs into a folder beside and renames it when it works: an interrupted installation leaves no half client. */
const install = (name: ClientName): void => {
  const { package: id, version } = programs[name]
  const beside = join(folder, `.installing-${process.pid}`)
  try {
    mkdirSync(join(beside, name), { recursive: true })
    const manifest = { private: true, dependencies: { [id]: version }, allowScripts: { [id]: true } }
    writeFileSync(join(beside, name, 'package.json'), JSON.stringify(manifest))
    execFileSync('npm', ['install', '--no-audit', '--no-fund', '--include=optional', '--loglevel=error'], {
      cwd: join(beside, name),
      stdio: 'inherit',
      timeout: 20 * 60_000,
    })
    verify(beside, name)
    rmSync(join(folder, name), { recursive: true, force: true })
    renameSync(join(beside, name), join(folder, name))
  } finally {
    rmSync(beside, { recursive: true, force: true })
  }
}

const asked = process.argv.slice(2)
const unknown = asked.find((name) => !names.some((known) => known === name))
if (unknown !== undefined)
  stop(`No client ${unknown}. Name one or more of ${names.join(', ')}, or none for all of them.`)
if (`${folder}/`.startsWith(`${root}/`))
  stop(`${folder} is inside the repository. Set PALIMPSEST_CLIENTS to a folder outside.`)

mkdirSync(folder, { recursive: true })
const wanted = names.filter((name) => asked.length === 0 || asked.includes(name))
const absent = wanted.filter((name) => !isInstalled(name))
const megabytes = absent.reduce((sum, name) => sum + programs[name].size, 0)
const { bavail, bsize } = statfsSync(folder)
const free = Math.floor((bavail * bsize) / 1e6)

say(`Clients in ${folder} (PALIMPSEST_CLIENTS sets another folder).`)
for (const name of wanted) if (!absent.includes(name)) say(`  ${name} ${programs[name].version}: installed`)
if (absent.length > 0) {
  say(`To install: ${absent.join(', ')}. They need about ${megabytes} MB of disk; ${free} MB are free.`)
  // npm unpacks beside its own cache, which holds each package once more.
  if (free < megabytes * 2) stop(`Free ${megabytes * 2 - free} MB first, or name fewer clients.`)
  for (const name of absent) {
    install(name)
    say(`  ${name} ${programs[name].version}: installed now`)
  }
}

/** Downloads the checks that come with the Agent SDK's examples, not with its package. */
const fetchChecks = async (): Promise<void> => {
  const { url, sha256, path } = sessionStoreChecksFile
  const file = join(folder, path)
  try {
    const text = await (await fetch(url)).text()
    if (hash('sha256', text) !== sha256) throw new Error('it is another file than the pinned one')
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text)
    say(`  ${path}: installed now`)
  } catch (error) {
    stop(`${url} cannot be downloaded (${String(error)}). Put the file there by hand: ${file}`)
  }
}
if (wanted.includes('agent-sdk')) {
  if (sessionStoreChecks() === undefined) await fetchChecks()
  else say(`  ${sessionStoreChecksFile.path}: installed`)
}
