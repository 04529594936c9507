import type { Workspace } from '../../core.ts'
import { checkoutCommand, workspaceText } from '../words.ts'
import { copyCommand } from './copy.ts'

/** The clients in which a conversation continues: the name on the command line, and the name for people. */
const clients = [
  ['claude-code', 'Claude Code'],
  ['codex', 'Codex'],
  ['pi', 'pi'],
  ['opencode', 'opencode'],
] as const

interface ContinueInProps {
  readonly id: string
  readonly at: number
  /** State of the files, if it was recorded with the event at the position. */
  readonly workspace: Workspace | undefined
  /** True to show the commands at once. */
  readonly isOpen?: boolean
}

/** Shows the commands that continue the conversation from a position in other clients. The page never runs a command. */
export const ContinueIn = ({ id, at, workspace, isOpen }: ContinueInProps) => (
  <details class="continue" open={isOpen}>
    <summary>Continue in …</summary>
    {workspace && <p>The files were at {workspaceText(workspace)}:</p>}
    {workspace && <CommandLine command={checkoutCommand(workspace)} purpose="the files" />}
    {clients.map(([name, title]) => (
      <CommandLine key={name} command={`palimpsest continue ${id} --at ${at} --in ${name}`} purpose={title} />
    ))}
  </details>
)

const CommandLine = ({ command, purpose }: { readonly command: string; readonly purpose: string }) => (
  <p>
    <code>{command}</code>{' '}
    <button
      type="button"
      class="quiet"
      aria-label={`Copy the command for ${purpose}`}
      onClick={() => copyCommand(command)}
    >
      copy
    </button>
  </p>
)
