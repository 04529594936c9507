import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { commitForm, type Workspace } from '../events/events.ts'

const execute = promisify(execFile)

/** Maximum time that git may take, in milliseconds, and maximum length of its answer that is read, in bytes. */
const patience = 5_000
const mostOutput = 64 * 1024

/**
 * Runs git in a folder, without locks on its files and without the programs that the repository may name. Returns the beginning of its
 * output; undefined if git is not installed, fails, or takes more than five seconds.
 */
export const runGit = async (folder: string, args: readonly string[]): Promise<string | undefined> => {
  const options = { timeout: patience, killSignal: 'SIGKILL', maxBuffer: mostOutput } as const
  const quiet = ['--no-optional-locks', '--no-pager', '-c', 'core.fsmonitor=false', '-C', folder]
  try {
    return (await execute('git', [...quiet, ...args], options)).stdout
  } catch (error) {
    const { code, stdout } = error as { readonly code?: unknown; readonly stdout?: string }
    return code === 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER' ? stdout : undefined
  }
}

/**
 * Reads the state of the files in a folder, for `workspace`: the commit that is checked out, and `dirty` if the repository has other
 * changes, new files included. Returns undefined outside a git repository, before its first commit, and if git does not answer within
 * five seconds.
 *
 * @param folder default: the working directory
 *
 * @example
 * import { gitWorkspace } from 'palimpsest'
 *
 * const workspace = await gitWorkspace('.')
 * await chat.append({ role: 'user', content: 'Close line 80.' }, { workspace })
 */
export const gitWorkspace = async (folder = '.'): Promise<Workspace | undefined> => {
  const status = await runGit(folder, ['status', '--porcelain=v2', '--branch', '--untracked-files=normal'])
  if (status === undefined) return undefined
  const lines = status.split('\n')
  const oid = '# branch.oid '
  const commit = lines.find((line) => line.startsWith(oid))?.slice(oid.length)
  if (commit === undefined || !commitForm.test(commit)) return undefined
  const isDirty = lines.some((line) => line !== '' && !line.startsWith('#'))
  return { kind: 'git', commit, ...(isDirty && { dirty: true }) }
}

/** A file that differs from a commit. */
export interface FileChange {
  readonly path: string
  /** Numbers of lines; null for a binary file. */
  readonly added: number | null
  readonly removed: number | null
}

/**
 * Compares the files of a repository with a commit. Files that git does not track are left out. Returns undefined if the commit is
 * unknown in this folder, or git does not answer.
 *
 * @returns `isCut`: true if more files differ than are listed
 */
export const gitChanges = async (
  folder: string,
  commit: string,
): Promise<{ readonly changes: readonly FileChange[]; readonly isCut: boolean } | undefined> => {
  const plain = ['--numstat', '-z', '--no-renames', '--no-ext-diff', '--no-textconv']
  const listed = await runGit(folder, ['diff', ...plain, commit, '--'])
  if (listed === undefined) return undefined
  const lines = listed.split('\0')
  const isCut = lines.pop() !== ''
  return { changes: lines.map(changeIn), isCut }
}

const changeIn = (line: string): FileChange => {
  const [added = '', removed = '', ...path] = line.split('\t')
  const countOf = (text: string): number | null => (text === '-' ? null : Number(text))
  return { path: path.join('\t'), added: countOf(added), removed: countOf(removed) }
}
