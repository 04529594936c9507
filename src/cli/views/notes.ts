import type { Entry, Link, Note, NoteEntry } from '../../index.ts'
import { type TextSpan } from '../text.ts'
import { firstLine } from './content.ts'
import { labelPart, positionPart } from './items.ts'

/** Reports whether an entry of the full history is a note or a link. */
export const isNote = (entry: Entry | NoteEntry): entry is NoteEntry =>
  entry.kind === 'note' || entry.kind === 'link'

/** Formats a note or link as a line: the position of the event that it follows, its kind, its content. */
export const noteParts = (entry: NoteEntry): readonly TextSpan[] => [
  positionPart(entry.position),
  labelPart(entry.kind, 'dim'),
  ...(entry.kind === 'note' ? saidBy(entry.note) : toldBy(entry.link)),
]

const saidBy = ({ kind, data }: Note): readonly TextSpan[] => [
  [kind, 'marker'],
  ...(data === undefined
    ? []
    : ([[`  ${firstLine(typeof data === 'string' ? data : JSON.stringify(data))}`]] as const)),
]

const toldBy = ({ relation, conversation, ref, position, call }: Link): readonly TextSpan[] => {
  const other = conversation === undefined ? '' : ` ${conversation}`
  const where = [
    ...(position === undefined ? [] : [`at ${position}`]),
    ...(call === undefined ? [] : [`call ${call}`]),
    ...(ref === undefined ? [] : [`ref ${firstLine(ref)}`]),
  ]
  const told: TextSpan = [`${relation}${other}`, 'marker', 'whole']
  return where.length > 0 ? [told, [`  ${where.join(', ')}`, 'dim', 'whole']] : [told]
}
