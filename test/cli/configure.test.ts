import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { inDirectory, shell } from './palimpsest.ts'

const tool = { name: 'run', description: 'Runs a command.', input_schema: { type: 'object' } }

test('configure records what later requests have besides messages, and removes it', () =>
  inDirectory(async (directory) => {
    writeFileSync(join(directory, 'prompt.md'), 'Be brief.\n')
    writeFileSync(join(directory, 'tools.json'), JSON.stringify([tool]))
    const request = async (): Promise<unknown> => {
      const { stdout, stderr } = await shell('palimpsest request c', directory)
      return { ...JSON.parse(stdout), stderr }
    }
    const messages = [{ role: 'user', content: [{ type: 'text', text: 'Hi.' }] }]
    await shell('palimpsest append c --role user --text Hi.', directory)
    const all = `--model m --system-file prompt.md --tools tools.json --parameters '{"max_tokens": 9}'`
    expect((await shell(`palimpsest configure c ${all}`, directory)).stdout).toMatch(/^ {4}1 .*configured/)
    const whole = {
      model: 'm',
      max_tokens: 9,
      system: expect.anything(),
      tools: [tool],
      messages,
      stderr: '',
    }
    expect(await request()).toEqual(whole)
    expect((await shell(`palimpsest configure c ${all}`, directory)).stdout).toBe('nothing to write\n')
    await shell('palimpsest configure c --remove tools system --model other', directory)
    expect(await request()).toEqual({ model: 'other', max_tokens: 9, messages, stderr: '' })
  }))

test.each([
  ['c', 2, 'give at least one of --model, --system, --system-file, --tools, --parameters and --remove'],
  ['c --model m --remove model', 2, 'either set model or remove it'],
  ['c --system-file p --remove system', 2, 'either set system or remove it'],
  ['c --remove colour', 2, 'Allowed choices are system, tools, model, parameters'],
  ['c --parameters 5', 1, 'parameters'],
  ['d --model m', 1, 'there is no conversation d in this store'],
])('configure %s is refused', (options, code, said) =>
  inDirectory(async (directory) => {
    await shell('palimpsest append c --role user --text Hi.', directory)
    expect(await shell(`palimpsest configure ${options}`, directory)).toMatchObject({
      code,
      stderr: expect.stringContaining(said),
    })
    expect((await shell('palimpsest log c', directory)).stdout).not.toContain('configured')
  }),
)
