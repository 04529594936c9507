import { generateKeyPairSync, hash, sign } from 'node:crypto'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseCheckpoint } from '../../../src/audit/ledger/checkpoints.ts'
import { publicBytes } from '../../../src/audit/ledger/keys.ts'
import { noteText, parseNote, signNote } from '../../../src/audit/ledger/notes.ts'
import { right } from '../either.ts'
import { type Head, ledgerOf } from './ledger.ts'

// What somebody may do to a bundle who can write all of its files, but has no key of the ledger.

/** A bundle as its files say, to be changed. */
interface Bundle {
  /** Four lines each. */
  events: string[][]
  turns: string[][]
  entries: Entry[]
  requests: string[]
  parts: string[]
  manifest: Record<string, unknown>
  checkpoint: string
  keys: string
}

type Entry = { name: string; revision: number; position: number; index: number; proof: string[] }

/** A number from 0 to below `below`. */
type Pick = (below: number) => number
/** Changes the bundle; false if it has nothing for that. */
type Tampering = (bundle: Bundle, pick: Pick) => boolean | Promise<boolean>

const linesIn = (text: string): string[] => text.split('\n').slice(0, -1)

const open = (folder: string): Bundle => {
  const read = (name: string): string => readFileSync(join(folder, name), 'latin1')
  const eventsIn = (name: string): string[][] => {
    const lines = linesIn(read(name))
    return Array.from({ length: lines.length / 4 }, (_, n) => lines.slice(4 * n, 4 * n + 4))
  }
  return {
    events: eventsIn('events.txt'),
    turns: eventsIn('turns.txt'),
    entries: linesIn(read('entries.jsonl')).map((line) => JSON.parse(line) as Entry),
    requests: linesIn(read('requests.jsonl')),
    parts: linesIn(read('parts.txt')),
    manifest: JSON.parse(read('bundle.json')) as Record<string, unknown>,
    checkpoint: readFileSync(join(folder, 'checkpoint.txt'), 'utf8'),
    keys: read('keys.json'),
  }
}

const save = (folder: string, bundle: Bundle): void => {
  const write = (name: string, lines: readonly string[]): void =>
    writeFileSync(join(folder, name), lines.map((line) => `${line}\n`).join(''), 'latin1')
  write('events.txt', bundle.events.flat())
  write('turns.txt', bundle.turns.flat())
  write(
    'entries.jsonl',
    bundle.entries.map((entry) => JSON.stringify(entry)),
  )
  write('requests.jsonl', bundle.requests)
  write('parts.txt', bundle.parts)
  write('bundle.json', [JSON.stringify(bundle.manifest)])
  writeFileSync(join(folder, 'checkpoint.txt'), bundle.checkpoint)
  writeFileSync(join(folder, 'keys.json'), bundle.keys, 'latin1')
}

/** The text with another character at one place: a letter or digit, so that it mostly stays what it was in form. */
const altered = (text: string, pick: Pick): string => {
  const places = [...text.matchAll(/[a-z0-9]/g)].map(({ index }) => index)
  const at = places[pick(places.length)] ?? 0
  return `${text.slice(0, at)}${text[at] === 'x' ? 'y' : 'x'}${text.slice(at + 1)}`
}

const isWithheld = (event: readonly string[] | undefined): boolean => event?.[0] === ''
const hashOf = (event: readonly string[]): string =>
  isWithheld(event) ? (event[3] as string) : hash('sha256', Buffer.from(event.join('\n'), 'latin1'))

/** Writes every `prev` again from an event on, and what the manifest says. */
const chained = (bundle: Bundle, from = 0): void => {
  for (const [n, event] of bundle.events.entries()) {
    const before = bundle.events[n - 1]
    if (n < from || isWithheld(event)) continue
    const prev = before ? `"${hashOf(before)}"` : 'null'
    event[3] = (event[3] as string).replace(/"prev":(null|"[0-9a-f]*")\}$/, `"prev":${prev}}`)
    if (event[1] === 'Forked' && before)
      event[2] = (event[2] as string)
        .replace(/"position":\d+/, `"position":${n - 1}`)
        .replace(/"hash":"[0-9a-f]*"/, `"hash":"${hashOf(before)}"`)
  }
  const { events, manifest } = bundle
  manifest['last'] = events.length - 1
  manifest['first'] = Math.max(
    0,
    events.findLastIndex(([, type]) => type === 'Forked'),
  )
  manifest['head'] = hashOf(events.at(-1) as string[])
  manifest['withheld'] = events.flatMap((event, n) => (isWithheld(event) ? [n] : []))
}

const ledgerIn = ({ manifest }: Bundle) => manifest['ledger'] as { entries: number; sealed: string }
const turnsIn = ({ manifest }: Bundle) => manifest['turns'] as { events: number; withheld: number[] }

/** Writes every `prev` of what the turns recorded again, and what the manifest says of it. */
const turnsChained = (bundle: Bundle): void => {
  for (const [n, event] of bundle.turns.entries()) {
    const before = bundle.turns[n - 1]
    if (isWithheld(event)) continue
    const prev = before ? `"${hashOf(before)}"` : 'null'
    event[3] = (event[3] as string).replace(/"prev":(null|"[0-9a-f]*")\}$/, `"prev":${prev}}`)
  }
  const withheld = bundle.turns.flatMap((event, n) => (isWithheld(event) ? [n] : []))
  Object.assign(turnsIn(bundle), { events: bundle.turns.length, withheld })
}

/** What somebody decided, if it is there. */
const decisionIn = ({ turns }: Bundle): string[] | undefined =>
  turns.find((event) => !isWithheld(event) && event[1] === 'CallDecided')

const alterData = (bundle: Bundle, pick: Pick): boolean => {
  const shown = bundle.events.filter((event) => !isWithheld(event) && /[a-z0-9]/.test(event[2] as string))
  const event = shown[pick(shown.length)]
  const texts = [...(event?.[2] ?? '').matchAll(/"text":"[^"\\]*[a-z]/g)]
  const text = texts[pick(texts.length)]
  if (!event || !text) return false
  const end = text.index + text[0].length - 1
  const data = event[2] as string
  event[2] = `${data.slice(0, end)}${data[end] === 'q' ? 'r' : 'q'}${data.slice(end + 1)}`
  return true
}

const receiptAt = (bundle: Bundle, pick: Pick): string[] | undefined => {
  const holding = bundle.events.filter((event) => !isWithheld(event) && event[2]?.includes('"digest":"'))
  return holding[pick(holding.length)]
}

/** The same ledger again, with one's own key. */
const resealed = async (bundle: Bundle): Promise<void> => {
  const { events, turns, manifest } = bundle
  const name = manifest['conversation'] as string
  const first = manifest['first'] as number
  const position = events.length - 1
  const own: Head = { name, revision: position - first, position, head: manifest['head'] as string }
  const beside = turns.slice(-1).map((event) => ({
    name: `stream turns-${name}`,
    revision: turns.length - 1,
    position: turns.length - 1,
    head: hashOf(event),
  }))
  const others = Array.from({ length: 5 }, (_, n) => ({ ...own, name: `other-${n}` }))
  const ledger = await ledgerOf([...others, own, ...beside])
  const { checkpoint, entries = [] } = ledger.proofOf([own, ...beside])
  Object.assign(bundle, { checkpoint, keys: '{"rotations":[]}\n', entries })
  ledgerIn(bundle).entries = entries.length
}

export const tamperings: Readonly<Record<string, Tampering>> = {
  'one character of an event': ({ events }, pick) => {
    const event = events[pick(events.length)] as string[]
    const line = pick(4)
    if (!/[a-z0-9]/.test(event[line] as string)) return false
    event[line] = altered(event[line] as string, pick)
    return true
  },
  'an event dropped': ({ events }, pick) => events.splice(pick(events.length), 1).length > 0,
  'an event dropped, manifest adapted': (bundle, pick) => {
    if (bundle.events.length < 2) return false
    bundle.events.splice(pick(bundle.events.length), 1)
    const { events, manifest } = bundle
    manifest['last'] = events.length - 1
    manifest['head'] = hashOf(events.at(-1) as string[])
    manifest['withheld'] = events.flatMap((event, n) => (isWithheld(event) ? [n] : []))
    return true
  },
  'an event put in': ({ events }, pick) => {
    const copy = [...(events[pick(events.length)] as string[])]
    events.splice(pick(events.length + 1), 0, copy)
    return true
  },
  'an event added at the end': (bundle) => {
    const copy = bundle.events.findLast((event) => !isWithheld(event) && event[1] !== 'Forked')
    if (!copy) return false
    bundle.events.push([`${copy[0]}0`, ...copy.slice(1)])
    chained(bundle, bundle.events.length - 1)
    return true
  },
  'two events swapped': ({ events }, pick) => {
    const [a, b] = [pick(events.length), pick(events.length)]
    if (a === b || events[a]?.join() === events[b]?.join()) return false
    ;[events[a], events[b]] = [events[b] as string[], events[a] as string[]]
    return true
  },
  'the end cut off, manifest adapted': (bundle, pick) => {
    if (bundle.events.length < 2) return false
    bundle.events.splice(1 + pick(bundle.events.length - 1))
    chained(bundle, Infinity)
    return true
  },
  'a text changed, the chain hashed again': (bundle, pick) => {
    if (!alterData(bundle, pick)) return false
    chained(bundle)
    return true
  },
  'a text changed, everything after it withheld': (bundle, pick) => {
    if (!alterData(bundle, pick)) return false
    for (const event of bundle.events.slice(1)) if (isWithheld(event)) return (chained(bundle), true)
    return false
  },
  'all hashed again, and sealed with another key': async (bundle, pick) => {
    if (!alterData(bundle, pick)) return false
    chained(bundle)
    await resealed(bundle)
    return true
  },
  'the checkpoint signed with another key': async (bundle) => {
    const note = right(parseNote(bundle.checkpoint))
    const key = generateKeyPairSync('ed25519').privateKey
    const signer = {
      publicKey: publicBytes(key) as Buffer,
      sign: (message: Uint8Array) => Promise.resolve(sign(null, message, key)),
    }
    const { origin } = right(parseCheckpoint(note.text))
    bundle.checkpoint = noteText(await signNote(note.text, origin, signer))
    return true
  },
  'one character of the checkpoint': (bundle, pick) => {
    bundle.checkpoint = altered(bundle.checkpoint, pick)
    return true
  },
  'a receipt changed': (bundle, pick) => {
    const event = receiptAt(bundle, pick)
    if (!event) return false
    event[2] = (event[2] as string).replace(/"digest":"[0-9a-f]{8}/, '"digest":"01234567')
    return true
  },
  'a receipt removed, the chain hashed again': (bundle, pick) => {
    const event = receiptAt(bundle, pick)
    if (!event) return false
    const data = JSON.parse(event[2] as string) as { origin: { context?: unknown } }
    delete data.origin.context
    event[2] = JSON.stringify(data)
    chained(bundle)
    return true
  },
  'a request and its receipt made again': (bundle, pick) => {
    const { parts, requests } = bundle
    const last = JSON.parse(requests.at(-1) ?? '{}') as { position?: number; add?: number[] }
    const number = last.add?.[pick(last.add.length)]
    const event = bundle.events[last.position ?? -1]
    if (number === undefined || !event || !/[a-z0-9]/.test(parts[number] as string)) return false
    parts[number] = altered(parts[number] as string, pick)
    event[2] = (event[2] as string).replace(/"digest":"[0-9a-f]{8}/, '"digest":"01234567')
    chained(bundle)
    return true
  },
  'a part of a request changed': ({ parts }, pick) => {
    const n = pick(parts.length)
    if (!/[a-z0-9]/.test(parts[n] ?? '')) return false
    parts[n] = altered(parts[n] as string, pick)
    return true
  },
  'a part of a request dropped': ({ parts }, pick) => parts.splice(pick(parts.length), 1).length > 0,
  'a part added that is in no request': ({ parts }) => parts.push('"text":"more"}') > 0,
  'a request dropped': ({ requests }, pick) => requests.splice(pick(requests.length), 1).length > 0,
  'a request twice': ({ requests }) => {
    const last = requests.at(-1)
    return last !== undefined && requests.push(last.replace(/"keep":\d+/, '"keep":0')) > 0
  },
  'a request of another call': ({ requests, events }, pick) => {
    const n = pick(requests.length)
    const request = JSON.parse(requests[n] ?? '{}') as { position?: number }
    if (request.position === undefined) return false
    const position = (request.position + 1 + pick(events.length)) % (events.length + 1)
    if (position === request.position) return false
    const digest = (at: number): string | undefined => /"digest":"(\w+)/.exec(events[at]?.[2] ?? '')?.[1]
    if (digest(position) !== undefined && digest(position) === digest(request.position)) return false
    requests[n] = JSON.stringify({ ...request, position })
    return true
  },
  'a value of the manifest': ({ manifest }, pick) => {
    const names = Object.keys(manifest).filter((name) => name !== 'ledger' && name !== 'turns')
    const name = names[pick(names.length)] as string
    const value = manifest[name]
    manifest[name] =
      typeof value === 'number'
        ? value + 1
        : typeof value === 'string'
          ? altered(value, pick)
          : [...(value as []), 0]
    return true
  },
  'a value of the manifest missing': ({ manifest }, pick) => {
    const names = Object.keys(manifest)
    const name = names[pick(names.length)] as string
    delete manifest[name]
    return true
  },
  'a place in the ledger': ({ entries }, pick) => {
    const place = entries[pick(entries.length)] as Entry
    const which = pick(5)
    if (which === 0) place.revision++
    else if (which === 1) place.index++
    else if (which === 2) place.position++
    else if (which === 3) place.name = `${place.name}-2`
    else if (place.proof.length > 0) place.proof[0] = altered(place.proof[0] as string, pick)
    else return false
    return true
  },
  'the entry for the end of the conversation dropped': (bundle) => {
    const { entries, manifest } = bundle
    const own = entries.filter(({ name }) => name === manifest['conversation'])
    const newest = own.toSorted((a, b) => a.revision - b.revision).at(-1)
    bundle.entries = entries.filter((entry) => entry !== newest)
    ledgerIn(bundle).entries = bundle.entries.length
    return true
  },
  'an entry of the ledger twice': (bundle, pick) => {
    const { entries } = bundle
    entries.push({ ...(entries[pick(entries.length)] as Entry) })
    ledgerIn(bundle).entries = entries.length
    return true
  },
  'the number of entries': (bundle) => ledgerIn(bundle).entries++ > 0,
  'when the ledger was sealed, in another form': (bundle) => {
    ledgerIn(bundle).sealed = '28 November'
    return true
  },
  'who decided on a call': (bundle) => {
    const event = decisionIn(bundle)
    if (!event) return false
    event[2] = (event[2] as string).replace('"by":"ann"', '"by":"eve"')
    return true
  },
  'why somebody decided so, the chain hashed again': (bundle) => {
    const event = decisionIn(bundle)
    if (!event) return false
    event[2] = (event[2] as string).replace('It may.', 'It must.')
    turnsChained(bundle)
    return true
  },
  'what the turns recorded, cut off': (bundle, pick) => {
    if (bundle.turns.length < 2) return false
    bundle.turns.splice(1 + pick(bundle.turns.length - 1))
    turnsChained(bundle)
    return true
  },
  'what the turns recorded, all of it dropped': (bundle) => {
    if (bundle.turns.length === 0) return false
    bundle.turns = []
    turnsChained(bundle)
    return true
  },
  'something put in that no turn recorded': (bundle) => {
    const copy = bundle.turns.findLast((event) => !isWithheld(event))
    if (!copy) return false
    bundle.turns.push([`${copy[0]}0`, ...copy.slice(1)])
    turnsChained(bundle)
    return true
  },
  'the entry for the turns dropped': (bundle) => {
    const entries = bundle.entries.filter(({ name }) => !name.startsWith('stream '))
    if (entries.length === bundle.entries.length) return false
    bundle.entries = entries
    ledgerIn(bundle).entries = entries.length
    return true
  },
  'how much the turns recorded': (bundle) => {
    turnsIn(bundle).events++
    return true
  },
  'the name of the conversation': ({ manifest }) => {
    manifest['conversation'] = `${String(manifest['conversation'])}-2`
    return true
  },
  'the rotation of the key': (bundle) => {
    bundle.keys = '{"rotations":[]}\n'
    return true
  },
  'the key in the rotation': (bundle, pick) => {
    bundle.keys = altered(bundle.keys, pick)
    return true
  },
  'a withheld event made up': ({ events }, pick) => {
    const withheld = events.flatMap((event, n) => (isWithheld(event) ? [n] : []))
    const n = withheld[pick(withheld.length)]
    if (n === undefined) return false
    const metadata = JSON.stringify({
      schema: 1,
      time: '2026-01-01T00:00:00.000Z',
      prev: n > 0 ? hashOf(events[n - 1] as string[]) : null,
    })
    events[n] = ['made-up', 'MessageAppended', '{"role":"user","content":[]}', metadata]
    return true
  },
  'a withheld event changed': ({ events }, pick) => {
    const withheld = events.filter(isWithheld)
    const event = withheld[pick(withheld.length)]
    if (!event) return false
    const line = 1 + pick(3)
    event[line] = (event[line] as string).replace(/[0-9a-f]/, (digit) => (digit === '0' ? '1' : '0'))
    return true
  },
  'what is before a withheld event, which is made to fit': (bundle, pick) => {
    const { events } = bundle
    const n = events.findIndex(isWithheld)
    const event = events[n]
    if (!event || n < 1) return false
    events[n - 1] = [...(events[n - 1] as string[])]
    ;(events[n - 1] as string[])[0] = `${events[n - 1]?.[0]}${pick(9)}`
    const rest = Buffer.from(event[2] as string, 'hex').toString('latin1')
    const fitting = rest.replace(/"[0-9a-f]{64}"/, `"${hashOf(events[n - 1] as string[])}"`)
    event[2] = Buffer.from(fitting, 'latin1').toString('hex')
    return true
  },
  'an event said to be withheld': (bundle, pick) => {
    const n = pick(bundle.events.length)
    const event = bundle.events[n] as string[]
    if (isWithheld(event)) return false
    bundle.events[n] = [
      '',
      `${'0'.repeat(64)} 64`,
      Buffer.from('"prev":null}').toString('hex'),
      hashOf(event),
    ]
    chained(bundle, Infinity)
    return true
  },
}

const allFiles = [
  'events.txt',
  'turns.txt',
  'entries.jsonl',
  'requests.jsonl',
  'parts.txt',
  'bundle.json',
  'checkpoint.txt',
  'keys.json',
]

/** Does something to the bundle in a folder: the kind of that number, or the next one that it has something for. */
export const tamper = async (folder: string, kind: number, pick: Pick): Promise<string> => {
  const kinds = Object.entries(tamperings)
  const which = kind % (kinds.length + 2)
  if (which >= kinds.length) {
    const name = allFiles[pick(allFiles.length)] as string
    const bytes = readFileSync(join(folder, name))
    if (which > kinds.length || bytes.length === 0) rmSync(join(folder, name))
    // The newline at the end says nothing.
    else writeFileSync(join(folder, name), bytes.subarray(0, pick(bytes.toString('latin1').trimEnd().length)))
    return `${name} ${which > kinds.length ? 'missing' : 'not written to its end'}`
  }
  for (let n = which; ; n++) {
    const [name, change] = kinds[n % kinds.length] as [string, Tampering]
    const bundle = open(folder)
    if (!(await change(bundle, pick))) continue
    save(folder, bundle)
    return name
  }
}
