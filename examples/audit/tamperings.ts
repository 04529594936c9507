import { cp } from 'node:fs/promises'
import { newKeyFile } from '../../src/audit.ts'
import { type AuditProblem, openStore } from '../../src/index.ts'
import { type Change, removeLedger, rewrite, type Row } from './file.ts'
import { conversation, type Made, origin } from './made.ts'

/** Something that is done to a copy of the store. */
export interface Tampering {
  readonly what: string
  readonly how: string
  /** What notices it, and the kind of problem that it is then. */
  readonly noticedBy: 'the hash chain' | 'the ledger' | 'the anchor' | 'the key that the auditor has'
  readonly kind: AuditProblem['kind']
  readonly act: (file: string, made: Made) => Promise<void>
}

const careless = (change: Change) => (file: string) =>
  Promise.resolve(rewrite(file, conversation, change, 'careless'))
const patient = (change: Change) => (file: string) =>
  Promise.resolve(rewrite(file, conversation, change, 'chained'))

/** Changes one event's data, as text. */
const inData =
  (at: number, from: string, to: string): Change =>
  (rows) =>
    rows.map((row, n) => (n === at ? { ...row, data: replaced(row, from, to) } : row))

const replaced = ({ data }: Row, from: string, to: string): string => {
  if (!data.includes(from)) throw new Error(`The sample has changed: there is no ${from}`)
  return data.replace(from, to)
}

const changedReply: Change = (rows) =>
  inData(45, '"output_tokens":', '"output_tokens":1')(inData(45, 'claude-opus-5-5', 'claude-haiku-4-5')(rows))

export const tamperings: readonly Tampering[] = [
  {
    what: 'The text of a message is altered',
    how: 'event 0: the user said "It should be 120.00", which is "150.00" now',
    noticedBy: 'the hash chain',
    kind: 'conversation',
    act: careless(inData(0, 'should be 120.00', 'should be 150.00')),
  },
  {
    what: 'An event is dropped',
    how: 'event 7, an edit that failed, is gone; those after it have moved up',
    noticedBy: 'the hash chain',
    kind: 'conversation',
    act: careless((rows) => rows.toSpliced(7, 1)),
  },
  {
    what: 'Two events are swapped',
    how: 'events 9 and 11: a result of a tool, and what the user said then',
    noticedBy: 'the hash chain',
    kind: 'conversation',
    act: careless((rows) => rows.map((row, n) => (n === 9 ? rows[11] : n === 11 ? rows[9] : row) ?? row)),
  },
  {
    what: 'The end is cut off, and every hash computed again',
    how: 'the last two events, "Publish it." and the reply to it, never were',
    noticedBy: 'the ledger',
    kind: 'entry',
    act: patient((rows) => rows.slice(0, -2)),
  },
  {
    what: 'Model and usage of a reply are altered, and every hash computed again',
    how: 'event 45: another model has answered, and used more tokens',
    noticedBy: 'the ledger',
    kind: 'entry',
    act: patient(changedReply),
  },
  {
    what: 'An older file is put back',
    how: 'the whole file, ledger and all, is what it was the day before',
    noticedBy: 'the anchor',
    kind: 'anchor',
    act: (file, { older }) => cp(older, file),
  },
  {
    what: 'Everything is written again: a new ledger, signed with another key',
    how: 'event 45 altered as before, every hash computed again, all sealed under the same name',
    noticedBy: 'the key that the auditor has',
    kind: 'ledger',
    act: async (file) => {
      rewrite(file, conversation, changedReply, 'chained')
      removeLedger(file)
      const store = await openStore(`sqlite:${file}`)
      const signer = await newKeyFile(`${file}.key`)
      await store.audit.init({ signer, origin })
      await store.audit.seal({ signer })
      await store.close()
    },
  },
]
