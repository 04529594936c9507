import { type Command, InvalidArgumentError, Option } from 'commander'
import { type AccessScope, scopes } from '../../server/route.ts'
import type { Shell } from '../shell.ts'
import { writeTable } from '../views/table.ts'

/** Token file of the `token` commands. The server itself uses only the file that `--token-file` names. */
export const defaultTokenFile = 'tokens.json'
const fileOption = ['--file <file>', 'the token file', defaultTokenFile] as const

const defaultScopes: readonly AccessScope[] = ['read', 'write']

/** Adds the scopes in a text such as `read,audit` to those that were given before. */
const scopesIn = (text: string, before: readonly AccessScope[]): readonly AccessScope[] => {
  const added = text.split(',').map((name) => {
    const scope = scopes.find((one) => one === name.trim())
    if (scope === undefined) throw new InvalidArgumentError(`Allowed choices are ${scopes.join(', ')}.`)
    return scope
  })
  return [...new Set(before === defaultScopes ? added : [...before, ...added])]
}

interface Options {
  readonly file: string
  readonly scopes: readonly AccessScope[]
}

/** Adds the former name of `serve token`. */
export const addToken = (program: Command, shell: Shell): void => {
  addServeToken(program, shell, { hidden: true })
}

/** Adds the `token` commands. The tokens of the server are kept in a file, not in a store. */
export const addServeToken = (serve: Command, shell: Shell, { hidden = false } = {}): void => {
  const token = serve
    .command('token', { hidden })
    .description('manage who may call the server')
    .addHelpText('after', '\nExamples:\n  palimpsest serve token create ann\n  palimpsest serve token list')
  token
    .command('create <name>')
    .description('add a token to the file and print it once: only its hash is kept')
    .option(...fileOption)
    .addOption(
      new Option('--scopes <scopes...>', 'what it may do; commas are accepted, too')
        .choices(scopes)
        .default(defaultScopes)
        .argParser(scopesIn),
    )
    .addHelpText(
      'after',
      `
The name is recorded as the actor of every write and every decision. A server
requires tokens only if it is started with --token-file. The scope audit is for
verification and evidence; erase is for erasing content and for legal holds.

Examples:
  palimpsest serve token create ann
  palimpsest serve token create dashboard --scopes read --file tokens.json`,
    )
    .action(async (name: string, { file, scopes: given }: Options) => {
      const { createAccessToken } = await import('../../server/access-tokens.ts')
      const made = createAccessToken(file, name, given)
      const { out, isJson } = shell.surroundings()
      if (isJson) await out.json({ name, scopes: given, token: made, file })
      else {
        await out.line([made])
        await out.aside([`for ${name}: ${given.join(', ')}; ${file} keeps only its hash`, 'dim'])
        await out.aside([`required by a server that is started with --token-file ${file}`, 'dim'])
      }
    })
  token
    .command('revoke <name>')
    .description('revoke a token: a running server refuses it at once')
    .option(...fileOption)
    .addHelpText('after', '\nExamples:\n  palimpsest serve token revoke ann')
    .action(async (name: string, { file }: Options) => {
      const { revokeAccessToken } = await import('../../server/access-tokens.ts')
      revokeAccessToken(file, name)
      const { out, isJson } = shell.surroundings()
      if (isJson) await out.json({ name, file })
      else await out.line([`the token of ${name} is no longer valid`])
    })
  token
    .command('list')
    .description('list the tokens in the file, without their values')
    .option(...fileOption)
    .addHelpText('after', '\nExamples:\n  palimpsest serve token list --json')
    .action(async ({ file }: Options) => {
      const { listAccessTokens } = await import('../../server/access-tokens.ts')
      const tokens = listAccessTokens(file)
      const { out, isJson } = shell.surroundings()
      if (isJson) return out.json({ tokens })
      const rows = tokens.map(({ name, scopes: its, created }) => [name, its.join(' '), created])
      await writeTable(out, ['name', 'scopes', 'created'], rows)
    })
}
