import { realpath } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { type Conversation, openStore } from '../../src/index.ts'
import { type Repository, repositoryIn } from '../support/git.ts'
import { inDirectory, type Ran, shell } from './palimpsest.ts'

interface Scene {
  readonly chat: Conversation
  readonly repository: Repository
  /** The commit of the first message, and that of the third. */
  readonly commits: readonly [string, string]
  readonly run: (command: string) => Promise<Ran>
}

/** A conversation in a git repository: messages 0 to 3, between which a file is changed. */
const scene = (work: (scene: Scene) => Promise<void>): Promise<void> =>
  inDirectory(async (given) => {
    const folder = await realpath(given)
    const repository = repositoryIn(folder)
    const before = repository.git('rev-parse', 'HEAD')
    repository.write('a.txt', 'one\ntwo\n')
    const after = repository.commit()
    const store = await openStore(`sqlite:${folder}/palimpsest.db`)
    const chat = store.conversation('task-42')
    for (const [content, commit] of [
      ['Change the file.', before],
      ['What next?', undefined],
      ['Test it.', after],
      ['And now?', after],
    ] as const)
      await chat.append({ role: 'user', content }, commit ? { workspace: { kind: 'git', commit } } : {})
    try {
      await work({
        chat,
        repository,
        commits: [before, after],
        run: (command) => shell(command, folder, { HOME: folder, CLAUDE_CONFIG_DIR: '' }),
      })
    } finally {
      await store.close()
    }
  })

describe('log', () => {
  test('says where the files were, once for each change', () =>
    scene(async ({ run, commits: [before, after], chat }) => {
      expect((await run('palimpsest log task-42')).stdout.replaceAll(/ +\n/g, '\n')).toBe(
        [
          '    0  ●  user       Change the file.',
          `    0  files      at ${before.slice(0, 7)}`,
          '    1  ●  user       What next?',
          '    2  ●  user       Test it.',
          `    2  files      at ${after.slice(0, 7)}`,
          '    3  ●  user       And now?',
          '',
        ].join('\n'),
      )
      await chat.rewind({ to: 1 })
      const dirty = { kind: 'git', commit: before, dirty: true } as const
      await chat.append({ role: 'user', content: 'Wait.' }, { workspace: dirty })
      const files = (await run('palimpsest log task-42 --all')).stdout
        .split('\n')
        .filter((line) => line.includes('files'))
      expect(files).toEqual([
        `    0  files      at ${before.slice(0, 7)}`,
        `    2  files      at ${after.slice(0, 7)}`,
        `    5  files      at ${before.slice(0, 7)}, with changes that were not committed`,
      ])
    }))
})

describe('continue', () => {
  const command = 'palimpsest continue task-42 --in claude --dry-run'

  test('says where the files were at the position, and the command that brings them there', () =>
    scene(async ({ run, commits: [before] }) => {
      const short = before.slice(0, 7)
      expect((await run(`${command} --at 1`)).stderr).toContain(
        `the files were at ${short}: git stash && git switch --detach ${before.slice(0, 12)}\n`,
      )
      const { stdout } = await run(`${command} --at 1 --json`)
      expect(JSON.parse(stdout)).toMatchObject({ workspace: { kind: 'git', commit: before } })
    }))

  test('says nothing if the files are there', () =>
    scene(async ({ run, repository }) => {
      repository.write('.gitignore', 'palimpsest.db*\nexamples\n')
      repository.commit()
      const { git, folder } = repository
      const store = await openStore(`sqlite:${folder}/palimpsest.db`)
      const commit = git('rev-parse', 'HEAD')
      await store
        .conversation('task-42')
        .append({ role: 'user', content: 'Go on.' }, { workspace: { kind: 'git', commit } })
      await store.close()
      const { stderr } = await run(command)
      expect(stderr).not.toContain('the files were')
      repository.write('a.txt', 'three\n')
      expect((await run(command)).stderr).toContain('the files were')
    }))
})

describe('rewind --dry-run', () => {
  test('says which events are abandoned and how the files differ, and does nothing', () =>
    scene(async ({ run, chat, commits: [before], repository: { git, write } }) => {
      write('new.bin', '\0')
      git('add', 'new.bin')
      const at = await chat.position()
      const status = git('status', '--porcelain', '--untracked-files=no')
      const ran = await run('palimpsest rewind task-42 --to 1 --dry-run')
      expect(ran).toEqual({
        stdout: [
          'would rewind to 1',
          'abandons 2 events',
          '    2  ●  user       Test it.',
          '    3  ●  user       And now?',
          `the files were at ${before.slice(0, 7)}: git stash && git switch --detach ${before.slice(0, 12)}`,
          'files here that differ from this commit:',
          '  a.txt  +1 -0',
          '  new.bin  binary',
          '',
        ].join('\n'),
        stderr: '',
        code: 0,
      })
      const { stdout } = await run('palimpsest rewind task-42 --turns 2 --dry-run --json')
      expect(JSON.parse(stdout)).toEqual({
        conversation: 'task-42',
        to: 1,
        abandons: [2, 3],
        shows: [],
        workspace: { kind: 'git', commit: before },
        files: [
          { path: 'a.txt', added: 1, removed: 0 },
          { path: 'new.bin', added: null, removed: null },
        ],
      })
      expect(await chat.position()).toBe(at)
      expect(git('status', '--porcelain', '--untracked-files=no')).toBe(status)
    }))

  test('says so if the commit is not known here, or none was recorded', () =>
    scene(async ({ run, chat }) => {
      await chat.rewind({ to: 0 })
      const workspace = { kind: 'git', commit: 'f'.repeat(40) } as const
      await chat.append({ role: 'user', content: 'Elsewhere.' }, { workspace })
      await chat.append({ role: 'user', content: 'Here.' })
      expect((await run('palimpsest rewind task-42 --to 5 --dry-run')).stdout).toContain(
        'git does not find this commit in this folder',
      )
      const { stdout } = await run('palimpsest rewind task-42 --to 3 --dry-run')
      expect(stdout).toContain('shows 3 events again: 1..3')
      expect((await run('palimpsest rewind task-42 --to -1 --dry-run')).stdout).toContain(
        'where the files were at that position was not recorded',
      )
      expect(await run('palimpsest rewind task-42 --to 99 --dry-run')).toMatchObject({ code: 1, stdout: '' })
    }))
})
