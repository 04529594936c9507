import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { clientCommand } from './programs.ts'
import { capture } from './support/capture.ts'
import { startOpencode } from './support/opencode-session.ts'
import { model, refusedIn, scriptedApi, summariesIn, textOf } from './support/requests.ts'
import { clientHome } from './support/run-client.ts'

// The real opencode, headless, as the server that its own screens talk to. It runs as root, too.

const command = clientCommand('opencode')

describe.skipIf(command === undefined)('opencode', () => {
  it('has no request refused in a session with tools, a subagent, compactions, a revert, a fork and a 529', async () => {
    const [api, home] = [await scriptedApi(), clientHome()]
    const file = join(home.project, 'notes.txt')
    writeFileSync(file, 'The first line.\n')
    const opencode = await startOpencode(command ?? '', home, api.url, model)
    const id = await opencode.begin()
    const say = (text: string) => opencode.say(id, text)
    const last = (): string => textOf(api.requests.at(-1))

    await say('Hello.')
    await say(`CALL bash {"command":"cat notes.txt","description":"read"}\nCALL read {"filePath":"${file}"}`)
    await say(`CALL edit {"filePath":"${file}","oldString":"first","newString":"only"}`)
    expect(readFileSync(file, 'utf8')).toBe('The only line.\n')
    const task = JSON.stringify({
      description: 'look',
      prompt: 'CALL bash {"command":"echo from the subagent","description":"say"}',
      subagent_type: 'general',
    })
    const looked = await say(`CALL task ${task}`)
    expect(api.requests.some((request) => textOf(request).includes('from the subagent'))).toBe(true)
    await say('OVERLOADED once.')

    const fork = await opencode.fork(id, looked)
    expect(fork).not.toBe(id)
    await opencode.say(fork, 'In a fork.')
    expect(last()).toContain('notes.txt')
    expect(last()).not.toContain('from the subagent')

    const forgotten = await say('To be forgotten.')
    await opencode.revert(id, forgotten)
    await say('Elsewhere.')
    expect(last()).not.toContain('To be forgotten.')
    await opencode.compact(id)
    await say('After the compaction.')
    expect(last()).toMatch(/Summary \d+ of what was said/)
    await say('USAGE 990000 is nearly all.')
    await say('Compacted by itself.')
    expect(summariesIn(api.requests)).toBe(2)
    expect(last()).toMatch(/Summary \d+ of what was said/)

    expect(refusedIn(api.requests)).toEqual([])
    expect(api.requests.filter(({ status }) => status === 529)).toHaveLength(1)
    capture('opencode', api.requests, await opencode.exported(id))
  })
})
