import { cp, mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'

/** A directory of its own for one run. It stays. */
export interface Workspace {
  /** What tells it from others. */
  readonly name: string
  /** What the agent works on: a copy of `project/`. */
  readonly project: string
  /** The URL of the store, unless another is asked for. */
  readonly store: string
}

const prefix = 'palimpsest-'

export const workspace = async (): Promise<Workspace> => {
  const folder = await mkdtemp(join(tmpdir(), prefix))
  const project = join(folder, 'project')
  await cp(new URL('project', import.meta.url).pathname, project, { recursive: true })
  return {
    name: basename(folder).slice(prefix.length),
    project,
    store: `sqlite:${join(folder, 'agent.db')}`,
  }
}
