import type { AnyBlock } from '../../src/events/blocks.ts'

// What the stand-in's model says to the prompts of prompts.ts: it reads what the tools answered, and does real work with that.

/** Says something, and is told the outputs of the tools that it called. */
type Work = Generator<readonly AnyBlock[], readonly AnyBlock[], readonly string[]>

/** The work that a prompt asks for. */
export const workOn = (prompt: string): Work => {
  const [, name = ''] = /src\/(\w+)\.js/.exec(prompt) ?? []
  const path = `src/${name}.js`
  if (prompt.startsWith('An invoice')) return invoice()
  if (prompt.startsWith('Do the next')) return todo(path)
  if (prompt.startsWith('Who uses')) return users(path)
  if (prompt.startsWith('Write a test')) return test(path, /test\/\S+\.js/.exec(prompt)?.[0] ?? '')
  if (prompt.startsWith('Note in')) return note(path)
  return left()
}

const thinking = (text: string): AnyBlock => ({ type: 'thinking', thinking: text })
const says = (text: string): AnyBlock => ({ type: 'text', text })
const call = (name: string, input: Readonly<Record<string, string>> = {}): AnyBlock => ({
  type: 'tool_use',
  name,
  input,
})
const read = (path: string): AnyBlock => call('read_file', { path })
const grep = (text: string): AnyBlock => call('grep', { text })

function* invoice(): Work {
  yield [
    thinking('Half an hour is lost. Somebody rounds hours down, or minutes never get that far.'),
    says('I look for where minutes become money.'),
    call('list_files'),
    grep('minutes'),
  ]
  yield [
    says('`costOf` is where it happens. I read it with what it calls.'),
    read('src/invoice.js'),
    read('src/money.js'),
    read('src/entries.js'),
  ]
  yield [
    thinking('floor(90 / 60) is 1. `times` rounds the product, so nothing has to be rounded before.'),
    call('edit_file', { path: 'src/invoice.js', old: 'Math.floor(minutes / 60)', new: 'minutes / 60' }),
  ]
  return [
    says(
      '`costOf` rounded the hours down before it multiplied: 90 minutes were one hour. It multiplies by the exact number of hours now, and `times` rounds the product to a cent.',
    ),
  ]
}

const todoLine = /^ *\/\/ TODO: refuse (.+)$/m

function* todo(path: string): Work {
  const [text = ''] = yield [
    thinking(`The next one is the first that stands in ${path}.`),
    read(path),
    grep('throw new'),
  ]
  const [line, condition = ''] = todoLine.exec(text) ?? []
  if (line === undefined) return [says(`There is no TODO left in ${path}.`)]
  const check = `  if (${condition}) throw new RangeError('refused')`
  // Now and then it is not copied as it stands.
  const [outcome = ''] = yield [
    says(`The first one: \`${condition}\`. It becomes a check.`),
    call('edit_file', { path, old: condition.length % 4 === 0 ? line.toLowerCase() : line, new: check }),
  ]
  if (outcome.startsWith('Error'))
    yield [
      thinking('I had not written it as it stands there.'),
      call('edit_file', { path, old: line, new: check }),
    ]
  return [says(`${path} refuses \`${condition}\` now, with a \`RangeError\`. Nothing else is changed.`)]
}

function* users(path: string): Work {
  const name = path.slice('src/'.length)
  const [, found = ''] = yield [
    thinking('The imports say who uses it.'),
    says('I look at the file and at who imports it.'),
    read(path),
    grep(`from './${name}'`),
  ]
  const paths = [...new Set(found.match(/^src\/\w+\.js/gm))]
  if (paths.length === 0) return [says(`Nobody imports ${path}: it is what is called from outside.`)]
  const texts = yield [says(`That is ${paths.join(' and ')}.`), ...paths.map(read)]
  const calls = texts.map((text, index) => `${paths[index]} (${text.split('\n').length} lines)`)
  return [
    says(`It is used by ${calls.join(' and ')}. All of them pass what it asks for, so they still get on.`),
  ]
}

function* test(path: string, file: string): Work {
  const [text = ''] = yield [
    thinking('The check that was added last is the last one in the file.'),
    read(path),
  ]
  const names = [...text.matchAll(/^export const (\w+)/gm)].map(([, name = '']) => name)
  const conditions = [...text.matchAll(/^ {2}if \((.+)\) throw/gm)].map(([, condition = '']) => condition)
  const tests = conditions.map(
    (condition, index) =>
      `test(${JSON.stringify(`${names[index]} refuses ${condition}`)}, () => {\n  assert.match(String(subject.${names[index]}), /RangeError/)\n})\n`,
  )
  const head = `import assert from 'node:assert'\nimport { test } from 'node:test'\nimport * as subject from '../${path}'\n`
  yield [
    says('I write a test for each of the checks that it has.'),
    call('write_file', { path: file, text: [head, ...tests].join('\n') }),
    call('list_files'),
  ]
  return [says(`${file} looks for every check of ${path}. It was not run: I cannot run anything here.`)]
}

function* note(path: string): Work {
  // Every other project calls it CHANGELOG.md.
  const [text = ''] = yield [read(path.length % 3 === 0 ? 'CHANGELOG.md' : 'CHANGES.md'), read(path)]
  if (text.startsWith('Error')) yield [says('It has another name here.'), read('CHANGES.md')]
  yield [
    call('edit_file', {
      path: 'CHANGES.md',
      old: '## Next\n',
      new: `## Next\n\n- \`${path}\` refuses one more input that it cannot use.`,
    }),
  ]
  return [says('It is noted in CHANGES.md, under Next.')]
}

function* left(): Work {
  const [found = ''] = yield [thinking('One search says it.'), grep('TODO: refuse')]
  const files = [...new Set(found.match(/^src\/\w+\.js/gm))]
  const count = found.match(/^src/gm)?.length ?? 0
  return [says(count === 0 ? 'None is left.' : `${count} are left, in ${files.join(', ')}.`)]
}
