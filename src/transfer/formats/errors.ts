import type { EventTooLarge, InvalidInput } from '../../events/errors.ts'
import { formats } from './plan.ts'

/** Errors of an import. Nothing from the file was written. */
export type ImportError =
  | UnknownFormat
  | UnsupportedFormat
  | BadLine
  | ImportDiverged
  | FileUnreadable
  | TemporaryFileFailed
  | InvalidInput
  | EventTooLarge

/** Nothing in the file indicates which program wrote it. */
export interface UnknownFormat {
  readonly _tag: 'UnknownFormat'
  readonly message: string
  /** True if the file is empty, or a session without messages. */
  readonly isWithoutMessages?: true
}

/** A session of a known program whose format is not supported. */
export interface UnsupportedFormat {
  readonly _tag: 'UnsupportedFormat'
  readonly message: string
  /** Description of the file, such as "a Codex rollout". */
  readonly found: string
}

/** A line that is not JSON, or contains something that its format does not allow. */
export interface BadLine {
  readonly _tag: 'BadLine'
  readonly message: string
  readonly file: string
  /** Line number, 1-based. */
  readonly line: number
  readonly problem: string
}

/** The file, or the source of its bytes, failed while it was being read. */
export interface FileUnreadable {
  readonly _tag: 'FileUnreadable'
  readonly message: string
  readonly file: string
  readonly cause: unknown
}

/** The temporary file for content that does not fit in memory cannot be written or read. */
export interface TemporaryFileFailed {
  readonly _tag: 'TemporaryFileFailed'
  readonly message: string
  readonly folder: string
  readonly cause: unknown
}

/** The conversation in the store has changed since the file was imported, so that the rest of the file no longer fits. */
export interface ImportDiverged {
  readonly _tag: 'ImportDiverged'
  readonly message: string
  readonly conversation: string
  /** Ref of the first entry of the file that does not fit. */
  readonly ref: string
}

export const emptyFile: UnknownFormat = {
  _tag: 'UnknownFormat',
  message: 'the file is empty',
  isWithoutMessages: true,
}

export const unknownFormat = (problem: string, condition = 'it is one'): UnknownFormat => ({
  _tag: 'UnknownFormat',
  message: `${problem}; if ${condition}, name its format (${formats.slice(0, -1).join(', ')} or ${formats.at(-1)})`,
})

/** Description of a database written by this library. */
export const aStore = 'a store'

export const unsupportedFormat = (found: string): UnsupportedFormat => ({
  _tag: 'UnsupportedFormat',
  message: `this is ${found}: ${found === aStore ? 'open it with openStore' : `not supported yet; convert it to messages of the Anthropic or OpenAI API, or register a format for it`}`,
  found,
})

export const badLine = (file: string, line: number, problem: string): BadLine => ({
  _tag: 'BadLine',
  message: `${file}, line ${line}: ${problem}. Nothing was imported; fix the line, or skip bad lines`,
  file,
  line,
  problem,
})

export const fileUnreadable = (file: string, cause: unknown): FileUnreadable => {
  const { code, message } = (cause ?? {}) as NodeJS.ErrnoException
  const plain = code === 'ENOENT' ? 'it does not exist' : code === 'EISDIR' ? 'it is a directory' : undefined
  const advice = code === undefined ? 'check the source of its bytes' : 'check the path'
  return {
    _tag: 'FileUnreadable',
    message: `${file} cannot be read (${plain ?? code ?? message ?? String(cause)}): ${advice}`,
    file,
    cause,
  }
}

export const oneFileWanted = (folder: string): FileUnreadable => ({
  _tag: 'FileUnreadable',
  message: `${folder} is a folder: name one of its files, or import all of them with palimpsest import`,
  file: folder,
  cause: undefined,
})

export const noFiles = (folder: string): FileUnreadable => ({
  _tag: 'FileUnreadable',
  message: `${folder} contains no .json or .jsonl file: check the path, or name the files`,
  file: folder,
  cause: undefined,
})

export const temporaryFileFailed = (folder: string, cause: unknown): TemporaryFileFailed => ({
  _tag: 'TemporaryFileFailed',
  message: `no temporary file can be used in ${folder} (${cause instanceof Error ? cause.message : String(cause)}): free some space there, or set TMPDIR to another folder. Nothing was imported`,
  folder,
  cause,
})

export const importDiverged = (conversation: string, ref: string, what: string): ImportDiverged => ({
  _tag: 'ImportDiverged',
  message: `${what} (entry ${ref}) is not shown in conversation ${conversation}, which has changed since it was imported: import the file under another id`,
  conversation,
  ref,
})

/** @param last position of the last event that was imported */
export const hasChanged = (conversation: string, ref: string, last: number): ImportDiverged => ({
  _tag: 'ImportDiverged',
  message: `conversation ${conversation} has been changed since this file was imported, so the rest of the file (from entry ${ref}) no longer fits: rewind the conversation to ${last} (fork it first to keep the changes), or import the file under another id`,
  conversation,
  ref,
})
