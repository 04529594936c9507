import { bytesText } from '../../store/diagnosis.ts'
import { toError } from '../../result/typed-error.ts'
import { type MachineSession, noSessionFound, readHead } from '../machine-sessions.ts'
import type { CommandContext } from '../shell.ts'
import { cutToWidth, shellWord } from '../text.ts'
import { writeTable } from './table.ts'

export { machineSessions, noSessionFound } from '../machine-sessions.ts'

/** Number of sessions that a terminal shows. */
const mostListed = 20

/** Writes the sessions of this machine, each with its project, its first prompt and the command that imports it. */
export const writeSessions = async (
  { out, isJson }: CommandContext,
  found: readonly MachineSession[],
): Promise<void> => {
  const shown = isJson || !out.isTerminal ? found : found.slice(0, mostListed)
  const sessions = shown.map((each) => ({ ...each, ...readHead(each) }))
  if (isJson) return out.json({ sessions })
  if (found.length === 0) throw toError(noSessionFound(undefined))
  if (out.isTerminal) {
    for (const { time, format, size, file, project = '', prompt = '' } of sessions) {
      await out.line([
        `${time.slice(0, 16).replace('T', ' ')}  ${format}  ${size > 0 ? `${bytesText(size)}  ` : ''}${project}`,
      ])
      if (prompt !== '') await out.line([`  ${cutToWidth(prompt, out.columns - 2)}`])
      await out.line([`  palimpsest import ${shellWord(file)}`, 'dim'])
    }
    const more = found.length - shown.length
    if (more > 0)
      await out.aside([`${more} more, older ones: all are listed in a pipe, and with --json`, 'dim'])
    return
  }
  const rows = sessions.map(({ time, format, size, file, project = '', prompt = '' }) => [
    time,
    format,
    String(size),
    file,
    project,
    prompt,
  ])
  await writeTable(out, ['time', 'format', 'size', 'file', 'project', 'prompt'], rows)
}
