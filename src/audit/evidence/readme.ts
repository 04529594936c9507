import type { Manifest } from './manifest.ts'

/**
 * Returns the README of a bundle, which explains the bundle to the people who verify it.
 *
 * @param omitted number of requests left out
 * @param authorities names of the timestamp authorities that have signed a time for the checkpoint
 */
export const readme = (
  { conversation, first, last, withheld, requests, turns, ledger }: Manifest,
  omitted: number,
  authorities: readonly string[],
): string => `# Evidence of the conversation ${conversation}

This folder holds what was said in a conversation with a language model, what the model was sent at each call, and what proves that nothing of it was changed since. You can check it without the program that wrote it, and without asking anybody.

## How to check it

    python3 verify.py . --key KEY
    python3 verify.py . --key KEY --print      # and what was proven, as a transcript

KEY is the verifier key of the ledger, a line such as \`example.com/log+1a2b3c4d+AZ…\`, or a file with it. **Get it from the operator some other way, best before you need it: a key that comes with the bundle proves nothing.** The same holds for verify.py: it is short, needs nothing but Python (3.8 or newer), and this copy is here for convenience; take one that you have read, or that you got elsewhere.

The program prints what it found, and a verdict: PROVEN; PROVEN, APART FROM WHAT IS LEFT OUT; NOT PROVEN (nothing contradicts, but nothing proves it); NOT CHECKED (this is not the bundle as it was written, or the key is of another ledger); or BROKEN, with the first thing that is not as it was written.

## What is in it

| file | |
|---|---|
| events.txt | ${last + 1} events in order, four lines each: id, type, data, metadata. The SHA-256 of an event's four lines is its hash, and the metadata of the next one names it as \`prev\`${first > 0 ? `. Events 0 to ${first - 1} are of the conversations that this one was forked from` : ''} |
| turns.txt | in the same form, ${turns.events} events that were recorded beside the conversation while the program worked on it: which calls of tools waited, who decided on them and why (CallDecided), which tools were started |
| requests.jsonl, parts.txt | ${requests} requests to models: a request is the first \`keep\` parts of the request on the line before, and then the lines \`add\` of parts.txt (numbered from 0), put together without newlines. Its SHA-256 is the digest in the receipt of the event at \`position\` |
| bundle.json | which conversation it is, how much there is in the other files, and when the ledger was sealed, as its store says |
${ledger ? '| entries.jsonl | each entry of the ledger for something that is here: the name and revision of what was sealed, where it is in events.txt or turns.txt, and the proof that the entry is in the ledger |\n| checkpoint.txt | the signed head of the ledger (a C2SP checkpoint), with the signatures of witnesses if there are any |\n| keys.json | the entries of the ledger by which its key was replaced, each with a head that the key before it has signed |\n' : ''}| verify.py | checks all of these files, but not this README.md, nor what else may be in the folder |

By hand, the hash of the first event: \`head -n 4 events.txt | head -c -1 | sha256sum\`

## What it proves

${ledger ? `- The hash of the last event is in a ledger that was signed with the key. So every event is what it was when the ledger was signed: it was not changed, moved, added or removed since by anybody without that key, whoever can write to the database. The same holds for each earlier event at which the ledger was sealed, and for what is in turns.txt.` : '- There was no ledger when this was written. The events fit together, but whoever can write to the database could have made all of them.'}
- Each request is, to the byte, the one whose digest was recorded with the answer.

## What it does not prove

- That what was recorded is what happened: times, names and texts are what the program wrote then.
- That nothing else was said elsewhere: this is one conversation.
- That nothing was said after its last event: it may end at any event that was the last one when the ledger was sealed.
- What the provider of the model did with a request.
- Anything against whoever has the key that signs, unless witnesses or others have seen this checkpoint, or an earlier one.
- That a ledger with other content was not shown to somebody else, unless witnesses have signed the checkpoint.
${withheld.length > 0 ? `\n## What is left out\n\nThe events ${withheld.join(', ')} are withheld. In place of the four lines of each are an empty line; the state of SHA-256 (in hex) before the end of its text, and the length of the whole text in bytes; this end, in hex; and its hash. The end names the hash of the event before it. Who can guess a withheld text to the letter may find the guess confirmed by the receipts of later calls.\n` : ''}${omitted > 0 ? `${withheld.length > 0 ? '\n' : '\n## What is left out\n\n'}Of ${omitted} answers that are here, the requests are not.\n` : ''}${authorities.map(timestamps).join('')}`

const timestamps = (authority: string): string => `
## Since when: the timestamp of ${authority}

A timestamp authority has signed that the ledger was as it is here at a certain time (RFC 3161). OpenSSL checks it; ca.pem are the certificates of whoever answers for the authority, which you get from them:

    head -n 3 checkpoint.txt > text
    grep -F '— ${authority} ' checkpoint.txt | cut -d ' ' -f 3 | base64 -d | tail -c +5 > reply.tsr
    openssl ts -verify -in reply.tsr -data text -CAfile ca.pem
    openssl ts -reply -in reply.tsr -text

The last line prints the time. Once a certificate has expired, add \`-attime\` with that time, in seconds since 1970, to the line before it.
`
