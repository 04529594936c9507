import { lstat, readdir, readFile } from 'node:fs/promises'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import type { SessionKey } from './session-keys.ts'
import { linesIn, type SessionLine } from './session-lines.ts'

/** Maximum size of a transcript that is read, in bytes. */
const mostRead = 256 * 1024 * 1024

type Environment = Readonly<Record<string, string | undefined>>

/** Returns the folder in which Claude Code, with this environment, keeps its configuration and its transcripts. */
export const configFolderOf = ({ CLAUDE_CONFIG_DIR: folder, HOME: home }: Environment): string =>
  folder ?? join(home ?? homedir(), '.claude')

/**
 * Reads the copies of a transcript on this machine: the one that Claude Code writes before it is mirrored, and those of resumed sessions
 * whose process was killed, which the SDK keeps in temporary folders. Requests, which the SDK never mirrors, and transcripts that do not exist or cannot be read are left out.
 *
 * @param folder Claude Code's configuration folder
 */
export const localTranscripts = async (
  key: SessionKey,
  folder: string,
): Promise<readonly (readonly SessionLine[])[]> => {
  const { projectKey, sessionId, subpath } = key
  const names = [projectKey, sessionId, ...(subpath?.split('/') ?? [])]
  // The names come from a client, and must not lead out of the folder.
  if (!names.every((name) => /^[\w-][\w.-]*$/.test(name))) return []
  const copies: (readonly SessionLine[])[] = []
  for (const each of [folder, ...(await resumedFolders())]) {
    const lines = await readLines(`${join(each, 'projects', ...names)}.jsonl`)
    if (lines.length > 0) copies.push(lines)
  }
  return copies
}

/** Returns the folders of resumed sessions, only those of this user: others can write into the folder for temporary files, too. */
const resumedFolders = async (): Promise<readonly string[]> => {
  const found: string[] = []
  for (const name of await readdir(tmpdir()).catch(() => [])) {
    if (!name.startsWith('claude-resume-')) continue
    const path = join(tmpdir(), name)
    const status = await lstat(path).catch(() => undefined)
    if (status?.isDirectory() && status.uid === (process.getuid?.() ?? status.uid)) found.push(path)
  }
  return found
}

const readLines = async (path: string): Promise<readonly SessionLine[]> => {
  try {
    const { size } = await lstat(path)
    const lines = size > mostRead ? [] : linesIn(await readFile(path, 'utf8'))
    return lines.filter(({ entry: { type } }) => !type.startsWith('api-request'))
  } catch {
    return []
  }
}
