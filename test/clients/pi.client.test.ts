import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { clientCommand } from './programs.ts'
import { capture } from './support/capture.ts'
import { startPi } from './support/pi-session.ts'
import { model, effortsIn, refusedIn, scriptedApi, summariesIn, textOf } from './support/requests.ts'
import { clientHome, sessionText } from './support/run-client.ts'

const command = clientCommand('pi')

describe.skipIf(command === undefined)('pi', () => {
  it('has no request refused in a session with tools, compactions, a fork and a 529', async () => {
    const [api, home] = [await scriptedApi(), clientHome()]
    writeFileSync(join(home.project, 'notes.txt'), 'The first line.\n')
    const pi = startPi(command ?? '', home, api.url, model)

    await pi.say('Hello.')
    expect(effortsIn(api.requests.at(-1)).length).toBeGreaterThan(0)
    await pi.say('CALL bash {"command":"cat notes.txt"}\nCALL read {"path":"notes.txt"}')
    expect(textOf(api.requests.at(-1))).toContain('The first line.')
    await pi.say('OVERLOADED once.')
    await pi.ask({ type: 'compact' })
    await pi.say('After the compaction.')
    expect(textOf(api.requests.at(-1))).toMatch(/Summary \d+ of what was said/)
    const compactions = summariesIn(api.requests)
    await pi.say('USAGE 990000 is nearly all.')
    await pi.say('Compacted by itself.')
    expect(summariesIn(api.requests)).toBeGreaterThan(compactions)
    const { messages } = await pi.ask({ type: 'get_fork_messages' })
    const [first] = messages as readonly { readonly entryId: string }[]
    await pi.ask({ type: 'fork', entryId: first?.entryId })
    await pi.say('In a fork.')
    expect(textOf(api.requests.at(-1))).not.toContain('Compacted by itself.')

    expect(refusedIn(api.requests)).toEqual([])
    expect(api.requests.filter(({ status }) => status === 529)).toHaveLength(1)
    capture('pi', api.requests, sessionText(home, '.pi/agent/sessions', '.jsonl'))
  })
})
