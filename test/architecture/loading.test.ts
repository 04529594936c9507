import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { node } from '../support/node.ts'

const root = new URL('../../', import.meta.url)

/** Notes what is loaded from here on, and prints it when the process ends. */
const watching = `
  import { registerHooks } from 'node:module'
  const loaded = new Set()
  registerHooks({ load: (url, context, next) => (loaded.add(url), next(url, context)) })
  process.on('exit', () => console.log(JSON.stringify([...loaded])))
`

/** What a program loads: files of src from there on, builtins by their names. */
const loadedBy = (program: string): readonly string[] => {
  const printed = execFileSync(node, ['--input-type=module', '-e', watching + program], {
    cwd: root,
    encoding: 'utf8',
  })
  const urls = JSON.parse(printed) as readonly string[]
  const source = new URL('src/', root).href
  return urls.flatMap((url) => {
    if (url.startsWith(source)) return [url.slice(source.length)]
    return url.startsWith('node:') ? [url] : []
  })
}

test('the core loads events, projections and commands, and of Node only what hashes and compares', () => {
  const loaded = loadedBy(`await import('./src/core.ts')`)
  const others = loaded.filter((name) => !/^(?:core\.ts$|events\/|projections\/|commands\/)/.test(name))
  expect(others.toSorted()).toEqual(['node:crypto', 'node:util'])
  expect(loaded).toContain('commands/decide.ts')
})

test('a store that is opened, written to and read loads no importer and no other store', () => {
  const loaded = loadedBy(`
    const { openStore } = await import('./src/index.ts')
    const store = await openStore('memory:')
    const chat = store.conversation('a')
    await chat.append({ role: 'user', content: 'Hello.' })
    await chat.effective()
    await store.close()
  `)
  expect(loaded).toContain('store/memory/store.ts')
  const unneeded =
    /^(?:jobs\/(?:import|read-session|write-whole)|formats\/(?!errors|plan)|store\/(?:sqlite|eventstoredb)\/|node:sqlite)/
  expect(loaded.filter((name) => unneeded.test(name))).toEqual([])
})
