import './audit.css'
import type { ComponentChildren } from 'preact'
import { copyText } from '../copy-text.ts'
import { ago, moment, number } from '../words.ts'
import type { AnchorRow } from '../source/answers.ts'
import type { AuditVerdict } from './verdict.ts'

const icons = { bad: '✕', open: '○', good: '✓', busy: '…' } as const

/** Shows the verdict, as an alert if something was changed. */
export const VerdictWords = ({
  verdict: { tone, title, words, command },
  children,
}: {
  readonly verdict: AuditVerdict
  readonly children?: ComponentChildren
}) => (
  <section class={`verdict ${tone}`} role={tone === 'bad' ? 'alert' : 'status'}>
    <h2 class="page-title">
      <span class="sign" aria-hidden="true">
        {icons[tone]}
      </span>{' '}
      {title}
    </h2>
    <p>{words}</p>
    {children}
    {command !== undefined && <Command text={command} />}
  </section>
)

/** Shows a shell command with a copy button. The page never runs the command. */
export const Command = ({ text }: { readonly text: string }) => (
  <p class="command">
    <code>{text}</code>
    <button type="button" class="quiet" aria-label={`Copy ${text}`} onClick={() => copyText(text, 'Copied')}>
      copy
    </button>
  </p>
)

export const Fact = ({ name, children }: { readonly name: string; readonly children: ComponentChildren }) => (
  <div class="fact">
    <dt>{name}</dt>
    <dd>{children}</dd>
  </div>
)

export const When = ({ time }: { readonly time: string }) => (
  <time dateTime={time} title={ago(time, Date.now())} class="figures">
    {moment(time)}
  </time>
)

interface AnchorsProps {
  readonly anchors: readonly AnchorRow[]
  /** Describes the events or entries covered by a checkpoint of `size` entries. */
  readonly holds: (size: number) => string
}

/** Lists the anchors, with the part that each anchor's checkpoint covers. */
export const Anchors = ({ anchors, holds }: AnchorsProps) => (
  <section>
    <h2>
      Anchors <span class="faint figures">{number(anchors.length)}</span>
    </h2>
    {anchors.length === 0 && <p class="faint">No checkpoint was ever kept elsewhere.</p>}
    {anchors.map(({ anchor, size, time }) => (
      <p key={anchor} class="line">
        <bdi class="grow">{anchor}</bdi>
        <span class="faint figures">{holds(size)}</span>
        <span class="faint">
          <When time={time} />
        </span>
      </p>
    ))}
  </section>
)

/** Shows a verifier key, which is long and not secret, with a copy button. */
export const Key = ({ text }: { readonly text: string }) => (
  <span class="long-key">
    <code>{text}</code>{' '}
    <button
      type="button"
      class="quiet"
      aria-label="Copy the verifier key"
      onClick={() => copyText(text, 'Copied')}
    >
      copy
    </button>
  </span>
)
