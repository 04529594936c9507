import {
  clientsFolder,
  installedVersion,
  type ClientName,
  programs,
  sessionStoreChecks,
  sessionStoreChecksFile,
} from '../programs.ts'

/** After all tests: a green run that tested nothing says so. */
export default (): (() => void) => () => {
  const folder = clientsFolder()
  const absent = (Object.keys(programs) as ClientName[]).filter(
    (name) => installedVersion(folder, name) !== programs[name].version,
  )
  const names = [...absent, ...(sessionStoreChecks() === undefined ? [sessionStoreChecksFile.path] : [])]
  if (names.length > 0)
    process.stdout.write(
      `\nSKIPPED: ${names.join(', ')} not installed in ${folder}. \`npm run clients\` installs them.\n`,
    )
}
