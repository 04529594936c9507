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
}

/** Shows the commands that continue the conversation from a position in other clients. The page never runs a command. */
export const ContinueIn = ({ id, at }: ContinueInProps) => (
  <details class="continue">
    <summary>Continue in …</summary>
    {clients.map(([name, title]) => {
      const command = `palimpsest continue ${id} --at ${at} --in ${name}`
      return (
        <p key={name}>
          <code>{command}</code>{' '}
          <button
            type="button"
            class="quiet"
            aria-label={`Copy the command for ${title}`}
            onClick={() => copyCommand(command)}
          >
            copy
          </button>
        </p>
      )
    })}
  </details>
)
