import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Page } from 'playwright-core'
import { loadSample } from '../../src/cli/sample.ts'
import { openStore, type Store } from '../../src/index.ts'
import { gather, type HtmlOptions } from '../../src/server/html/gather.ts'
import { htmlPage } from '../../src/server/html/page.ts'
import type { EmbeddedFile } from '../../src/ui/source/embedded/form.ts'
import { atEnd } from './at-end.ts'
import { browsing, type BrowsingOptions } from './browser.ts'
import { builtPage } from './bundle.ts'

// What tests do with exported pages.

/** A store in memory with the sample. */
export const sample = async (): Promise<Store> => {
  const store = await openStore('memory:')
  atEnd(store.close)
  await loadSample(store)
  return store
}

/** The page of a conversation, as one file. */
export const exported = async (
  store: Store,
  of: string,
  options: Partial<HtmlOptions> = {},
): Promise<string> => {
  const folder = pathToFileURL(join(await builtPage(), 'ui-file/'))
  const chat = store.conversation(of)
  const data = gather(store, chat, { at: await chat.position(), ...options })
  return joined(htmlPage(of, data, folder))
}

/** What the page of a conversation holds. */
export const gathered = async (
  store: Store,
  of: string,
  options: Partial<HtmlOptions> = {},
): Promise<EmbeddedFile> => {
  const chat = store.conversation(of)
  const data = gather(store, chat, { at: await chat.position(), ...options })
  return JSON.parse(await joined(data)) as EmbeddedFile
}

const joined = async (pieces: AsyncIterable<string>): Promise<string> => {
  let text = ''
  for await (const piece of pieces) text += piece
  return text
}

/** Opens a file as a double click does, at an address of the page. */
export const opened = async (html: string, address = '', options: BrowsingOptions = {}): Promise<Page> => {
  const folder = await mkdtemp(join(tmpdir(), 'palimpsest-file-'))
  atEnd(() => rm(folder, { recursive: true }))
  await writeFile(join(folder, 'a.html'), html)
  const page = await browsing(options)
  await page.goto(`${pathToFileURL(join(folder, 'a.html')).href}${address}`)
  return page
}
