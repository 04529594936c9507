import { execFile } from 'node:child_process'
import { appendFile, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import * as TE from 'fp-ts/lib/TaskEither.js'
import type { Anchor } from '../anchors.ts'
import { anchorFailed } from '../errors.ts'
import { nextNote, notesIn, ofOrigin, originName } from './anchor-notes.ts'

const run = promisify(execFile)
/** Timeout for git in milliseconds: an unresponsive server must not hold up sealing. */
const timeout = 60_000

/**
 * Returns an anchor that stores checkpoints in a file of a git repository, one commit each. If the checked-out branch tracks a branch
 * of another repository, the anchor pulls before reading and pushes after writing, so that the host of that repository has the
 * checkpoints.
 */
export const gitAnchor = (folder: string): Anchor => {
  const name = `git:${folder}`
  const git = async (...args: readonly string[]): Promise<string> => {
    const { stdout } = await run('git', ['-C', folder, ...args], {
      timeout,
      // The advice depends on the language of the messages.
      env: { ...process.env, GIT_TERMINAL_PROMPT: '0', LC_ALL: 'C' },
    })
    return stdout
  }
  const tried = <A>(work: () => Promise<A>) =>
    TE.tryCatch(work, (error) => anchorFailed(name, failure(folder, problemOf(error)), error))
  const succeeds = (...args: readonly string[]): Promise<boolean> =>
    git(...args).then(
      () => true,
      () => false,
    )

  /** Returns the committed content of the file. */
  const committed = async (file: string): Promise<string> =>
    (await succeeds('cat-file', '-e', `HEAD:${file}`)) ? git('show', `HEAD:${file}`) : ''
  const follows = (): Promise<boolean> => succeeds('rev-parse', '--verify', '--quiet', '@{upstream}')

  return {
    name,
    held: (origin) =>
      tried(async () => {
        await git('rev-parse', '--git-dir')
        if (await follows()) await git('pull', '--quiet', '--ff-only')
        const kept = await Promise.all([formerFileOf(origin), fileOf(origin)].map(committed))
        return ofOrigin(kept.flatMap(notesIn), origin)
      }),
    put: ({ origin, size, checkpoint }) =>
      tried(async () => {
        const file = fileOf(origin)
        if (notesIn(await committed(file)).at(-1) !== checkpoint) {
          await added(join(folder, file), checkpoint)
          await git('add', '--', file)
          await git('commit', '--quiet', '-m', `Keep checkpoint ${size} of ${origin}`, '--', file)
        }
        if (await follows()) await git('push', '--quiet')
        return checkpoint
      }),
  }
}

const readable = (origin: string): string => origin.replaceAll(/[^A-Za-z0-9.-]/g, '_').replace(/^\.+/, '_')
const fileOf = (origin: string): string => `${readable(origin)}-${originName(origin)}.txt`
/** Returns the name of the file used before each origin had a separate one: `a/b` and `a_b` shared a file. */
const formerFileOf = (origin: string): string => `${readable(origin)}.txt`

/** Appends the checkpoint to the file, unless it is already the last one there. */
const added = async (file: string, checkpoint: string): Promise<void> => {
  const text = await readFile(file, 'utf8').catch(() => '')
  if (notesIn(text).at(-1) !== checkpoint) await appendFile(file, nextNote(text, checkpoint))
}

/** Advice on errors of git whose messages do not say what to do. */
const advice: readonly (readonly [said: RegExp, advice: (folder: string) => string])[] = [
  [/spawn git ENOENT/, () => 'install git'],
  [/cannot change to|not a git repository/, (folder) => `create it with git init ${folder}, or clone it`],
  [
    /identity unknown|auto-detect email|empty ident|user\.(name|email)/i,
    (folder) =>
      `name the author: git -C ${folder} config user.name NAME; git -C ${folder} config user.email ADDRESS`,
  ],
  [
    /no such ref was fetched|couldn't find remote ref/i,
    (folder) => `create the branch there: git -C ${folder} push --set-upstream origin HEAD`,
  ],
  [
    /not possible to fast-forward|\(non-fast-forward\)|\(fetch first\)/i,
    (folder) => `run git -C ${folder} pull --rebase`,
  ],
  [/\[remote rejected\]|permission|denied|403/i, () => 'allow this user to push to that branch'],
  [
    /could not read|unable to access|does not appear to be a git repository/i,
    (folder) => `check git -C ${folder} remote -v and its credentials`,
  ],
]

const failure = (folder: string, problem: string): string => {
  const [, what] = advice.find(([said]) => said.test(problem)) ?? []
  return `failed (${problem})${what ? `: ${what(folder)}` : ''}`
}

/** Returns git's error message on one line. */
const problemOf = (error: unknown): string => {
  const said: unknown = Reflect.get(Object(error), 'stderr')
  const text = typeof said === 'string' && said.trim() !== '' ? said : String(error)
  return text.trim().replaceAll(/\s+/g, ' ')
}
