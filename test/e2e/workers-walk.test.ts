import { spawn } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { inDirectory, program, shell } from '../cli/palimpsest.ts'
import { endsWithTest } from '../support/node.ts'
import { until } from '../support/workers/scene.ts'
import { installPackage } from './snippets/installed.ts'
import { root } from './snippets/snippets.ts'

test('the commands at the beginning of docs/workers.md do what is printed there', () =>
  inDirectory(async (directory) => {
    const document = await readFile(join(root, 'docs/workers.md'), 'utf8')
    const [, code = ''] = /```js\n([\s\S]*?)```/.exec(document) ?? []
    await installPackage(directory)
    await writeFile(join(directory, 'package.json'), '{ "type": "module" }')
    // On a busy machine, the slow answer has to last until the process is killed.
    await writeFile(join(directory, 'agent.js'), code.replace('2_000', '60_000'))
    const commands = [...document.matchAll(/^\$ (.*)$/gm)].map(([, command = '']) => command)
    let output = ''
    const does = async (command: string, printed?: RegExp): Promise<void> => {
      expect(commands.shift()).toBe(command)
      await until(async () => {
        const { stdout, code: exit } = await shell(command, directory)
        return exit === 0 && (printed?.test(stdout) ?? true)
      })
    }

    expect(commands.shift()).toBe('npx palimpsest work agent.js')
    const work = spawn(process.execPath, [await program(), 'work', 'agent.js'], { cwd: directory })
    endsWithTest(work, 'SIGTERM')
    for (const stream of [work.stdout, work.stderr])
      stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
    await until(() => /started, process \d+\n/.test(output))
    await does('npx palimpsest say billing-7 "Why twice?" --answer')
    await does('npx palimpsest show billing-7', /It was our mistake/)
    await does('npx palimpsest say billing-8 "Slowly: why twice?" --answer')
    await does('npx palimpsest steps', /^billing-8\tclaimed\t\S+\t1\t/)
    expect(commands.shift()).toBe('kill -9 3488')
    process.kill(Number(/process (\d+)/.exec(output)?.[1]), 'SIGKILL')
    await does('npx palimpsest steps', /^billing-8\tclaimed\t\S+\t2\t/)
    await does('touch broken')
    await does('npx palimpsest say billing-9 "And why?" --answer')
    await does('npx palimpsest steps --parked', /^billing-9\tparked\t.*not_found_error/)
    await does('rm broken')
    await does('npx palimpsest retry billing-9')
    expect(commands).toEqual([])
    await until(() => /^billing-9 {2}settled/m.test(output))
    await shell('npx palimpsest cancel billing-8', directory)
    expect(output).toMatch(/ was killed \(SIGKILL\); starts again in 0\.1 s\n/)
    expect(output).toMatch(/^ {2}billing-8 {2}its process died {2}attempt 1 of 5/m)
  }))
