/** What is asked for in each turn, for ever. The first prompt is a bug, then the program is tidied up file by file. */
export function* prompts(): Generator<string, never> {
  yield 'An invoice for 90 minutes at 80.00 an hour comes to 80.00, it should be 120.00. Find out why, and fix it.'
  for (let round = 1; ; round++)
    for (const file of files) {
      yield `Do the next TODO of src/${file}.js.`
      yield `Who uses src/${file}.js? Read it and what uses it, and say whether they still get on.`
      yield `Write a test of what you changed in src/${file}.js, as test/${file}-${round}.test.js.`
      yield `Note in CHANGES.md, under Next, what became of src/${file}.js.`
      yield 'How many of the TODOs are left, and where?'
    }
}

const files = ['money', 'dates', 'text', 'lists', 'csv', 'entries', 'invoice', 'report']
