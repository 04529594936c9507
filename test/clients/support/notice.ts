import { clientsFolder, installedVersion, type ClientName, programs } from '../programs.ts'

/** After all tests: a green run that tested nothing says so. */
export default (): (() => void) => () => {
  const folder = clientsFolder()
  const absent = (Object.keys(programs) as ClientName[]).filter(
    (name) => installedVersion(folder, name) !== programs[name].version,
  )
  if (absent.length > 0)
    process.stdout.write(
      `\nSKIPPED: ${absent.join(', ')} not installed in ${folder}. \`npm run clients\` installs them.\n`,
    )
}
