import { chmodSync, linkSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { inDirectory, shell } from './palimpsest.ts'

const commands = {
  export: 'palimpsest export c --out',
  replay: 'palimpsest replay c --compare small.json --html',
}

test.each(Object.entries(commands))(
  '%s overwrites no file of the store, no key and no tokens',
  (_, command) =>
    inDirectory(async (directory) => {
      await shell('palimpsest append c --role user --text One', directory)
      await shell('palimpsest search One', directory)
      writeFileSync(
        join(directory, 'small.json'),
        '{"context":{"window":4000,"reserved":800},"mode":"truncate"}',
      )
      symlinkSync('palimpsest.db', join(directory, 'link'))
      linkSync(join(directory, 'palimpsest.db'), join(directory, 'hard'))
      writeFileSync(join(directory, 'tokens.json'), '{\n  "tokens": []\n}\n')
      writeFileSync(join(directory, 'audit.key'), '-----BEGIN PRIVATE KEY-----\n')
      const index = readdirSync(directory).find((name) => /-index\.\d+$/.test(name)) ?? 'no index'
      const own = [
        'palimpsest.db',
        'link',
        'hard',
        'palimpsest.db-wal',
        'palimpsest.db-shm',
        'palimpsest.db-journal',
        index,
        `${index}-sums`,
        'tokens.json',
        'audit.key',
      ]
      for (const file of own)
        expect(await shell(`${command} ${file}`, directory)).toMatchObject({
          code: 1,
          stdout: '',
          stderr: expect.stringMatching(
            new RegExp(`${file} (is|has|belongs) .*: name another file\n`),
          ) as string,
        })
      expect((await shell('palimpsest show c', directory)).stdout).toContain('One')
      expect(readdirSync(directory).filter((name) => name.endsWith('.tmp'))).toEqual([])
    }),
)

test.each(Object.entries(commands))('%s replaces a file behind a link, with its permissions', (_, command) =>
  inDirectory(async (directory) => {
    await shell('palimpsest append c --role user --text One', directory)
    writeFileSync(
      join(directory, 'small.json'),
      '{"context":{"window":4000,"reserved":800},"mode":"truncate"}',
    )
    writeFileSync(join(directory, 'file'), 'older')
    chmodSync(join(directory, 'file'), 0o600)
    symlinkSync('file', join(directory, 'link'))
    expect(await shell(`${command} link`, directory)).toMatchObject({ code: 0 })
    expect(readFileSync(join(directory, 'file'), 'utf8')).not.toContain('older')
    expect(statSync(join(directory, 'file')).mode & 0o777).toBe(0o600)
    expect(await shell(`${command} /dev/null`, directory)).toMatchObject({ code: 0 })
  }),
)

test('export says what it wrote', () =>
  inDirectory(async (directory) => {
    await shell('palimpsest append c --role user --text One', directory)
    const { stderr } = await shell('palimpsest export c --format md --out c.md', directory)
    expect(stderr).toMatch(/^wrote c\.md: markdown, 1 event, \d+ bytes\n$/)
  }))

test('export warns of many places in few lines, with the positions to withhold', () =>
  inDirectory(async (directory) => {
    const secret = 'The customer is called ACME-4711-2026.'
    for (let n = 0; n < 4; n++) await shell(`palimpsest append c --role user --text "${secret}"`, directory)
    await shell('palimpsest append c --role user --text Thanks.', directory)
    const { stderr } = await shell('palimpsest export c --format md --withhold 0', directory)
    expect(stderr).toMatch(
      /^WARNING: 3 places repeat words that are left out: look at them, or withhold them too: --withhold 1\.\.3\n {2}1 and 2 others: words left out at 0: .+\n$/,
    )
    expect((await shell('palimpsest export c --format md --withhold 0,1..3', directory)).stderr).toBe('')
  }))
