import fc from 'fast-check'

// One seed for every property of a run: printed, so that a failure anywhere can be had again.
const variable = 'PALIMPSEST_SEED'

/** Before all tests: chooses the seed. */
export default (): void => {
  process.env[variable] ??= String(Math.floor(Math.random() * 2 ** 31))
  process.stdout.write(`seed of the properties: ${process.env[variable]} (${variable} sets it)\n`)
}

fc.configureGlobal({ seed: Number(process.env[variable] ?? 0) })
