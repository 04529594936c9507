import { engineProblem } from './engine.ts'

/** After all tests: a green run that tested nothing says so. */
export default (): (() => void) => () => {
  if (engineProblem !== undefined)
    process.stdout.write(`\nThe container tests were skipped: ${engineProblem}.\n`)
}
