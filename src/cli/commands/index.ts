import type { Command } from 'commander'
import type { Shell } from '../shell.ts'
import { addAnswer } from './answer.ts'
import { addAppend } from './append.ts'
import { addAudit } from './audit.ts'
import { addBackup } from './backup.ts'
import { addBisect } from './bisect.ts'
import { addCache } from './cache.ts'
import { addCondense } from './condense.ts'
import { addConfigure } from './configure.ts'
import { addContinue } from './continue.ts'
import { addCopy } from './copy.ts'
import { addCost } from './cost.ts'
import { addApprove, addDeny, addWithdraw } from './decide.ts'
import { addDiff } from './diff.ts'
import { addDoctor } from './doctor.ts'
import { addErase } from './erase.ts'
import { addExport } from './export.ts'
import { addFork } from './fork.ts'
import { addGc } from './gc.ts'
import { addHold, addRelease } from './hold.ts'
import { addImport } from './import.ts'
import { addLink } from './link.ts'
import { addList } from './list.ts'
import { addLog } from './log.ts'
import { addMcp } from './mcp.ts'
import { addNote } from './note.ts'
import { addPause, addResume } from './pause.ts'
import { addRecord } from './record.ts'
import { addReplay } from './replay.ts'
import { addRender, addRequest, addSent } from './request.ts'
import { addRestore } from './restore.ts'
import { addRetention } from './retention.ts'
import { addRewind } from './rewind.ts'
import { addCancel, addSay } from './say.ts'
import { addSearch } from './search.ts'
import { addServe } from './serve.ts'
import { addFull, addShow } from './show.ts'
import { addStart } from './start.ts'
import { addStats } from './stats.ts'
import { addRetry, addSteps, addUnpark } from './steps.ts'
import { addToken } from './token.ts'
import { addTruncate } from './truncate.ts'
import { addUndo } from './undo.ts'
import { addVerify } from './verify.ts'
import { addQueued, addWaiting } from './waiting.ts'
import { addWhy } from './why.ts'
import { addWork, addWorkAsOne } from './work.ts'
import { addWorkers } from './workers.ts'

const groups: readonly (readonly [
  heading: string,
  adders: readonly ((program: Command, shell: Shell) => void)[],
])[] = [
  ['First steps:', [addStart, addImport, addRecord, addList, addSearch]],
  ['Look:', [addShow, addFull, addLog, addDiff, addRequest, addRender, addSent, addStats]],
  [
    'Change:',
    [addAppend, addCondense, addTruncate, addRestore, addRewind, addUndo, addFork, addNote, addLink],
  ],
  ['Turns:', [addSay, addConfigure, addWaiting, addQueued, addApprove, addDeny, addWithdraw, addCancel]],
  ['Investigate:', [addWhy, addCost, addCache, addBisect, addReplay]],
  [
    'Workers:',
    [addWork, addWorkAsOne, addAnswer, addWorkers, addSteps, addPause, addResume, addRetry, addUnpark],
  ],
  ['Share:', [addExport, addContinue, addCopy, addServe, addMcp, addToken, addAudit]],
  ['Store:', [addVerify, addDoctor, addBackup, addGc, addErase, addHold, addRelease, addRetention]],
]

/** Adds every command to the program, in the order in which the help lists them. */
export const addCommands = (program: Command, shell: Shell): void => {
  for (const [heading, adders] of groups) {
    program.commandsGroup(heading)
    for (const add of adders) add(program, shell)
  }
}
