import { readdirSync, readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { openStore } from 'palimpsest'
import { describe, expect, test } from 'vitest'
import { dataSchemas } from '../../src/events/events.ts'
import { inDirectory, shell } from '../cli/palimpsest.ts'
import { chunksIn } from '../../examples/sample/webp.ts'
import { builtPackage } from '../support/bundle.ts'
import { messagesApi } from '../../src/testing/messages-api/server.ts'

const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8')
const library = await builtPackage().then((folder) => pathToFileURL(join(folder, 'dist/index.js')).href)

const blocks = (language: string): readonly string[] =>
  [...readme.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)].flatMap(([, name, text = '']) =>
    name === language ? [text] : [],
  )

const document = (name: string): string =>
  readFileSync(new URL(`../../docs/${name}.md`, import.meta.url), 'utf8')

const sources = (): string => {
  const folder = new URL('../../src/', import.meta.url)
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => readFileSync(new URL(name, folder), 'utf8'))
    .join('\n')
}

describe('docs', () => {
  test('errors.md names every error', () => {
    const tags = new Set(
      [...sources().matchAll(/_tag: '(\w+)'|StoreFailure<'(\w+)'>|\brefused\(\s*'(\w+)'/g)].map(
        ([, tag, failure, refusal]) => tag ?? failure ?? refusal,
      ),
    )
    expect(tags.size).toBeGreaterThan(20)
    const text = document('errors')
    for (const tag of tags) expect(text).toContain(`| \`${tag}\` |`)
  })

  test('render.md names every repair', () => {
    const repairs = readFileSync(new URL('../../src/projections/render/repairs.ts', import.meta.url), 'utf8')
    const kinds = [...repairs.matchAll(/^ {2}\| '([a-z-]+)'$/gm)].map(([, kind]) => kind)
    const [, table = ''] = document('render').split('## Repairs')
    const documented = [...table.matchAll(/^\| `([a-z-]+)` \|/gm)].map(([, kind]) => kind)
    expect(kinds).toContain('call-answered')
    expect(documented).toEqual(kinds)
  })

  test('events.md names every event type and field, and its examples are valid', () => {
    const sections = document('events').split(/^## /m)
    for (const [type, schema] of Object.entries(dataSchemas)) {
      const section = sections.find((text) => text.startsWith(`${type}\n`)) ?? ''
      const [, example = ''] = /```json\n([\s\S]*?)```/.exec(section) ?? []
      expect(schema.safeParse(JSON.parse(example)).error).toBeUndefined()
      for (const field of Object.keys(schema.shape).filter((name) => name !== 'sealed'))
        expect(section).toMatch(new RegExp(`\\b${field}\\b`))
    }
  })
})

describe('README', () => {
  test('the program runs as written, and its comments are true', async () => {
    const [program = ''] = blocks('ts')
    await inDirectory(async (directory) => {
      const runnable = program.replace("'palimpsest'", `'${library}'`)
      await writeFile(join(directory, 'example.ts'), runnable)
      await writeFile(
        join(directory, 'kept.ts'),
        runnable.replace("openStore('memory:')", "openStore('sqlite:conversations.db')"),
      )
      // A reader may run the program again.
      for (const file of ['example.ts', 'example.ts', 'kept.ts'])
        expect(await shell(`"$NODE" --disable-warning=ExperimentalWarning ${file}`, directory)).toEqual({
          stdout: '',
          stderr: '',
          code: 0,
        })
      const store = await openStore(`sqlite:${join(directory, 'conversations.db')}`)
      const shown = [...program.matchAll(/\/\/ (\d+): \[(.*)\]/g)]
      expect(shown).toHaveLength(5)
      for (const [, at, items] of shown) {
        const history = await store.conversation('task-42').effective({ at: Number(at) })
        const letters = { message: '', summary: 'S', truncation: 'T' } as const
        expect(history.map(({ kind, position }) => letters[kind] + position).join(' ')).toBe(items)
      }
      await store.close()
    })
  })

  test('the agent runs as written', async () => {
    const [, program = ''] = blocks('ts')
    const api = await messagesApi({
      reply: (_, n) => ({
        content: [
          n === 0
            ? { type: 'tool_use', name: 'read_file', input: { path: 'parser.ts' } }
            : { type: 'text', text: 'A string is not closed.' },
        ],
      }),
    })
    await inDirectory(async (directory) => {
      await writeFile(join(directory, 'parser.ts'), 'let open = "')
      const sdk = import.meta.resolve('@anthropic-ai/sdk')
      const runnable = program
        .replace("'palimpsest'", `'${library}'`)
        .replace("'@anthropic-ai/sdk'", `'${sdk}'`)
        .replace("'zod'", `'${import.meta.resolve('zod')}'`)
      await writeFile(join(directory, 'agent.ts'), `${runnable}\nconsole.log(calls, content)\n`)
      const { stdout, stderr } = await shell(
        `ANTHROPIC_API_KEY=key ANTHROPIC_BASE_URL=${api.url} "$NODE" --disable-warning=ExperimentalWarning agent.ts`,
        directory,
      )
      expect({ stdout, stderr }).toEqual({
        stdout: "2 [ { type: 'text', text: 'A string is not closed.' } ]\n",
        stderr: '',
      })
    })
    expect(api.requests[1]?.body?.messages.at(-1)?.content).toMatchObject([{ content: 'let open = "' }])
    await api.close()
  })

  test('the picture is what npm start prints, cut to a terminal of 100 columns', async () => {
    const [picture = ''] = blocks('')
    const { stdout } = await inDirectory((directory) => shell('npm start', directory))
    const printed = stdout.split('\n')
    for (const line of picture
      .trimEnd()
      .split('\n')
      .filter((text) => text !== '⋮')) {
      expect(line.length).toBeLessThanOrEqual(100)
      const start = line.replace(/…$/, '')
      const at = printed.findIndex((whole) => (start === line ? whole === line : whole.startsWith(start)))
      expect(at < 0 ? line : '').toBe('')
      printed.splice(0, at + 1)
    }
  })

  test('the picture of the page is there, as large as a window, and no heavier than 250 kB', () => {
    const [, path = ''] = /<img src="([^"]+)"/.exec(readme) ?? []
    const png = readFileSync(new URL(`../../${path}`, import.meta.url))
    expect(png.subarray(1, 4).toString()).toBe('PNG')
    expect([png.readUInt32BE(16), png.readUInt32BE(20)]).toEqual([1_440, 900])
    expect(png.length).toBeLessThanOrEqual(250_000)
  })

  test('the animation of the page is there, of five to ten frames as large as a window, for ever, and no heavier than 1.5 MB', () => {
    const [, path = ''] = /<img src="([^"]+\.webp)"/.exec(readme) ?? []
    const webp = readFileSync(new URL(`../../${path}`, import.meta.url))
    const [head, animation, ...frames] = chunksIn(webp)
    expect(head).toMatchObject({ name: 'VP8X' })
    expect(animation).toEqual({ name: 'ANIM', body: Buffer.from([255, 255, 255, 255, 0, 0]) })
    expect(frames.length).toBeGreaterThanOrEqual(5)
    expect(frames.length).toBeLessThanOrEqual(10)
    const whole = head?.body.subarray(4)
    for (const { name, body } of frames) {
      expect(name).toBe('ANMF')
      expect(body.subarray(6, 12)).toEqual(whole)
      expect(body.readUIntLE(12, 3)).toBeGreaterThanOrEqual(400)
      expect(chunksIn(body, 16).map((chunk) => chunk.name)).toEqual(['VP8 '])
    }
    expect(webp.length).toBeLessThanOrEqual(1_500_000)
  })

  test('the shell commands are the command line’s own', async () => {
    const commands = blocks('sh').flatMap((block) => [...block.matchAll(/npx palimpsest ([a-z]+)/g)])
    expect(commands.length).toBeGreaterThan(8)
    await inDirectory(async (directory) => {
      for (const [, name] of commands)
        expect(await shell(`palimpsest ${name} --help`, directory)).toMatchObject({ code: 0 })
    })
    const { scripts } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
      readonly scripts: Readonly<Record<string, string>>
    }
    for (const [, name = ''] of readme.matchAll(/npm (start|test)/g)) expect(scripts).toHaveProperty(name)
  })
})
