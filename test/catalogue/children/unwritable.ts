// Searches a store whose index cannot be written, and has it diagnosed; prints what the command line writes.
import { run } from '../../../src/cli/run.ts'

const { stdin, stdout, env } = process
for (const command of ['search nothing', 'doctor'])
  await run([...command.split(' '), '--store', process.argv[2] ?? ''], { stdin, stdout, stderr: stdout, env })
