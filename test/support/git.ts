import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { temporaryFolder } from './stores.ts'

/** A git repository in a temporary folder, with one commit, of the file `a.txt`. */
export interface Repository {
  readonly folder: string
  readonly git: (...args: readonly string[]) => string
  readonly write: (file: string, text: string) => void
  /** Commits all changes and returns the hash. */
  readonly commit: () => string
}

/** Settings of the machine, such as hooks and signatures, must not matter. */
const env = {
  ...process.env,
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_SYSTEM: '/dev/null',
  GIT_AUTHOR_NAME: 'Dana',
  GIT_AUTHOR_EMAIL: 'dana@example.org',
  GIT_COMMITTER_NAME: 'Dana',
  GIT_COMMITTER_EMAIL: 'dana@example.org',
}

export const repositoryIn = (folder: string): Repository => {
  const git = (...args: readonly string[]): string =>
    execFileSync('git', args, {
      cwd: folder,
      env,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    }).trim()
  const write = (file: string, text: string): void => writeFileSync(join(folder, file), text)
  const commit = (): string => {
    git('add', '--all')
    git('commit', '--quiet', '--message', 'change')
    return git('rev-parse', 'HEAD')
  }
  git('init', '--quiet')
  write('a.txt', 'one\n')
  commit()
  return { folder, git, write, commit }
}

export const repository = (): Repository => repositoryIn(temporaryFolder())
