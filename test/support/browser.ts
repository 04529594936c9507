import { execFile } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import bundled from '@sparticuz/chromium'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { expect } from 'vitest'
import { atEnd } from './at-end.ts'
import { kept, root } from './kept.ts'
import { node } from './node.ts'

// A real Chromium: from npm on Linux x64, an installed one elsewhere. One a worker, a context of its own for each test.

const variable = 'PALIMPSEST_CHROME'
const usual = [
  '/usr/bin/google-chrome',
  '/usr/bin/chromium',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  'C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe',
]
const isBundled = process.platform === 'linux' && process.arch === 'x64'
const installed = process.env[variable] ?? (isBundled ? undefined : usual.find((path) => existsSync(path)))

/** Why there is no browser here, for the titles of tests that are skipped without one; empty where there is one. */
export const noBrowser: string =
  isBundled || installed !== undefined
    ? ''
    : ` (no Chrome for ${process.platform} ${process.arch}: ${variable} says where one is)`

const { version } = JSON.parse(
  readFileSync(join(root, 'node_modules/@sparticuz/chromium/package.json'), 'utf8'),
) as { readonly version: string }

/** The folder where the one from npm is unpacked: it takes whatever lies in its temporary folder, of any version. */
const unpacked = (): Promise<string> =>
  kept('chromium', version, async (folder) => {
    await mkdir(folder, { recursive: true })
    const program = "import('@sparticuz/chromium').then(({ default: it }) => it.executablePath())"
    const env = { ...process.env, TMPDIR: folder }
    await promisify(execFile)(node, ['-e', program], { cwd: root, env })
  })

/** Its own font beside those of the machine, which may have none. */
const fontsIn = async (folder: string): Promise<string> => {
  const file = join(folder, `fonts.${process.pid}.conf`)
  const include = '<include ignore_missing="yes">/etc/fonts/fonts.conf</include>'
  await writeFile(file, `<?xml version="1.0"?><fontconfig>${include}<dir>${folder}/fonts</dir></fontconfig>`)
  return file
}

// What it adds for machines of a cloud: one process alone, pages that may do what no user's page may, and 3D graphics computed without
// hardware, through which each frame would go.
const foreign =
  /^--(single-process|no-zygote|disable-web-security|allow-running-insecure|disable-site-isolation|use-gl|use-angle|enable-unsafe-swiftshader|ignore-gpu-blocklist|in-process-gpu)/
const args = [...bundled.args.filter((arg) => !foreign.test(arg)), '--no-sandbox', '--disable-gpu']

const launch = async (): Promise<Browser> => {
  if (installed !== undefined)
    return chromium.launch({ executablePath: installed, args: ['--no-sandbox'], timeout: 2 * patience })
  const folder = await unpacked()
  const env = { ...process.env, FONTCONFIG_FILE: await fontsIn(folder) }
  return chromium.launch({ executablePath: join(folder, 'chromium'), args, env, timeout: 2 * patience })
}

/** What is waited for may take long on a busy machine: in milliseconds, as in vitest.config.ts. */
const patience = 300_000

let launched: Promise<Browser> | undefined
/** The worker's browser. It ends with the worker: its pipe closes. */
export const browser = (): Promise<Browser> => (launched ??= launch())

export interface BrowsingOptions extends BrowserContextOptions {
  /** What may be found fault with, as the tests expect: by its text. */
  readonly allowed?: readonly RegExp[]
}

/**
 * A new page in a context of its own, closed when the test is over. The test fails if the page has thrown, has written an error to the
 * console, has opened a dialog, has broken its policy, or has asked for anything that is not of the origin of its first address.
 */
export const browsing = async ({ allowed = [], ...options }: BrowsingOptions = {}): Promise<Page> => {
  const context = await (
    await browser()
  ).newContext({
    viewport: { width: 1440, height: 1_000 },
    reducedMotion: 'reduce',
    locale: 'en-GB',
    timezoneId: 'UTC',
    ...options,
  })
  context.setDefaultTimeout(patience)
  const faults: string[] = []
  const fault = (text: string): void => {
    if (!allowed.some((pattern) => pattern.test(text))) faults.push(text)
  }
  await context.addInitScript(
    "addEventListener('securitypolicyviolation', (e) => console.error('policy: ' + e.violatedDirective + ' ' + e.blockedURI))",
  )
  let origin: string | undefined
  context.on('request', (request) => {
    const { protocol, host } = new URL(request.url())
    if (protocol === 'blob:' || protocol === 'data:') return
    origin ??= protocol + host
    if (protocol + host !== origin) fault(`a request to another origin: ${request.url()}`)
  })
  context.on('console', (message) => {
    const isFault = message.type() === 'error' || message.type() === 'warning'
    if (isFault) fault(`${message.text()} (${message.location().url})`)
  })
  context.on('weberror', (error) => fault(String(error.error())))
  context.on('dialog', (dialog) => {
    fault(`a dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  atEnd(async () => {
    await context.close()
    expect(faults.join('\n'), 'faults of the page').toBe('')
  })
  return context.newPage()
}
