import { describe, expect, it } from 'vitest'
import { gitWorkspace, type TurnOptions, type Workspace } from '../../../src/index.ts'
import type { ApiReply } from '../../../src/testing/messages-api/replies.ts'
import { toolUse } from '../../support/log.ts'
import { repository } from '../../support/git.ts'
import { temporaryFolder } from '../../support/stores.ts'
import { type Scene, scene, task, yes } from '../../support/turn-scene.ts'

const call: ApiReply = { content: [{ ...toolUse('write'), id: undefined, name: 'write', input: {} }] }
const tools = [{ name: 'write', input_schema: { type: 'object' } }]

/** The workspace of each message, in order. */
const workspaces = async ({ chat }: Scene): Promise<readonly (Workspace | undefined)[]> =>
  (await chat.timeline()).flatMap(({ event }) =>
    event.type === 'MessageAppended' ? [event.metadata.workspace] : [],
  )

describe('the workspace of a turn', () => {
  it('is read before each reply and the results of its calls are recorded', async () => {
    const { folder, git, write, commit } = repository()
    const commits = [git('rev-parse', 'HEAD')]
    const run = {
      write: () => {
        write('a.txt', 'two\n')
        commits.push(commit())
        write('b.txt', 'new\n')
        return 'written'
      },
    }
    const playing = await scene([call, yes])
    await playing.turn({ tools, run, workspace: () => gitWorkspace(folder) })
    const [before, after] = commits
    expect(await workspaces(playing)).toEqual([
      undefined,
      { kind: 'git', commit: before },
      { kind: 'git', commit: after, dirty: true },
      { kind: 'git', commit: after, dirty: true },
    ])
  })

  it('may be a value', async () => {
    const playing = await scene([yes])
    await playing.turn({ workspace: { kind: 'git', commit: '3f2a1c4' } })
    expect(await workspaces(playing)).toEqual([undefined, { kind: 'git', commit: '3f2a1c4' }])
  })

  const broken: readonly [string, NonNullable<TurnOptions['workspace']>][] = [
    ['throws', () => Promise.reject(new Error('no git'))],
    ['returns something else', () => ({ kind: 'git', commit: 'HEAD' })],
    ['knows nothing', () => undefined],
  ]
  it.each(broken)('does not cost the reply if the function %s', async (_, workspace) => {
    const playing = await scene([yes])
    expect(await playing.turn({ workspace })).toMatchObject({ ended: 'stop' })
    expect(await workspaces(playing)).toEqual([undefined, undefined])
  })

  it('is refused if it is no commit', async () => {
    const playing = await scene([yes])
    await expect(playing.turn({ workspace: { kind: 'git', commit: 'main' } })).rejects.toMatchObject({
      _tag: 'InvalidInput',
      message: expect.stringMatching(/^workspace.*commit/),
    })
  })
})

describe('the workspace of a message', () => {
  const workspace = { kind: 'git', commit: 'a'.repeat(40), dirty: true } as const

  it('is recorded with it, also if it waits in the inbox', async () => {
    const playing = await scene([
      async () => {
        await playing.chat.say({ role: 'user', content: 'And there?' }, { workspace })
        return yes
      },
      yes,
    ])
    await playing.turn()
    expect((await workspaces(playing))[2]).toEqual(workspace)
  })

  it('is refused if it is no commit', async () => {
    const { chat } = await scene([])
    for (const wrong of [{ kind: 'git', commit: '3F2A1C4' }, { ...workspace, dirty: false }, { kind: 'git' }])
      await expect(chat.append(task, { workspace: wrong as Workspace })).rejects.toMatchObject({
        _tag: 'InvalidInput',
        message: expect.stringContaining('workspace'),
      })
  })

  it('stays if the content of the message is erased', async () => {
    const { chat } = await scene([])
    const { position } = await chat.append(task, { workspace })
    await chat.erase({ positions: [position], by: 'ann', reason: 'request 17' })
    const erased = (await chat.timeline())[position]?.event.metadata
    expect(erased).toMatchObject({ workspace, erased: {} })
    expect(await chat.verify()).toMatchObject({ erased: 1, events: 3 })
  })
})

describe('gitWorkspace', () => {
  it('names the commit, and says if there are other changes', async () => {
    const { folder, git, write } = repository()
    const commit = git('rev-parse', 'HEAD')
    expect(await gitWorkspace(folder)).toEqual({ kind: 'git', commit })
    write('a.txt', 'two\n')
    expect(await gitWorkspace(folder)).toEqual({ kind: 'git', commit, dirty: true })
    git('checkout', '--quiet', '--detach')
    expect(await gitWorkspace(folder)).toEqual({ kind: 'git', commit, dirty: true })
  })

  it('reads the commit although the list of changes is cut', async () => {
    const { folder, git, write } = repository()
    for (let n = 0; n < 1_000; n++) write(`${'long '.repeat(20)}${n}`, '')
    expect(await gitWorkspace(folder)).toEqual({ kind: 'git', commit: git('rev-parse', 'HEAD'), dirty: true })
  })

  it('knows nothing outside a repository, and before the first commit', async () => {
    const folder = temporaryFolder()
    expect(await gitWorkspace(folder)).toBeUndefined()
    expect(await gitWorkspace(`${folder}/missing`)).toBeUndefined()
  })
})
