import type { Command } from 'commander'
import { visible } from '../../transfer/formats/visible.ts'
import type { ModelCall } from '../../index.ts'
import { exclusive, several } from '../options.ts'
import type { Shell } from '../shell.ts'
import { writeTable } from '../views/table.ts'

interface Options {
  readonly call?: number
  readonly list?: boolean
}

export const addSent = (program: Command, shell: Shell): void => {
  program
    .command('sent <id>')
    .description('print the request of a model call, rebuilt from the log, as JSON')
    .addOption(
      exclusive('--call <n>', 'number of the call, from 1 (default: the last one)', ['list'], several),
    )
    .option('--list', 'list the calls: number, position, kind, model, tokens in and out, digest')
    .addHelpText(
      'after',
      '\nStandard error says whether the request matches the digest in its receipt.\n\nExamples:\n  palimpsest sent task-42 --list\n  palimpsest sent task-42 --call 3 > request.json',
    )
    .action(
      shell.look(async ({ store, out, isJson, host, fail }, id: string, { call, list = false }: Options) => {
        const chat = store.conversation(id)
        if (list) {
          const calls = []
          for await (const each of chat.calls()) calls.push(rowOf(each))
          if (isJson) return out.json({ conversation: id, calls })
          const rows = calls.map((row) => Object.values(row).map(String))
          return writeTable(
            out,
            ['call', 'position', 'kind', 'model', 'in', 'out', 'digest'],
            rows,
            [0, 1, 4, 5],
          )
        }
        const { number, position, receipt, isSame, request, body, betas } = await chat.sent(call)
        if (!isSame) fail()
        const { parameters, ...sent } = request
        await out.json(body ?? { ...parameters, ...(betas && { betas }), ...sent }, !isJson || out.isTerminal)
        const verdict = isSame ? 'matches its receipt' : 'DOES NOT MATCH ITS RECEIPT'
        const next = isSame ? '' : '; verify --receipts shows what differs'
        host.stderr.write(
          `${visible(`call ${number}, made at position ${receipt.position}, answered at ${position}: ${verdict} (${receipt.digest})${next}`)}\n`,
        )
      }),
    )
}

const rowOf = ({ number, position, kind, origin, receipt }: ModelCall) => {
  const { usage = {}, model = '' } = origin
  const tokens = (field: string): number => Number(usage[field] ?? 0)
  return {
    call: number,
    position,
    kind,
    model,
    in: tokens('input_tokens') + tokens('cache_read_input_tokens') + tokens('cache_creation_input_tokens'),
    out: tokens('output_tokens'),
    digest: receipt.digest,
  }
}
