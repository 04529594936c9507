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

This folder contains the record of a conversation with a language model, the requests that were sent to the model, and the proof that none of this was changed afterwards. You can check it without the program that wrote it, and without asking anyone.

## How to check it

    python3 verify.py . --key KEY
    python3 verify.py . --key KEY --print      # also print what is proven, as a transcript

KEY is the verifier key of the ledger, a line such as \`example.com/log+1a2b3c4d+AZ…\`, or a file that contains it. **Get the key from the operator separately, preferably before you need it: a key that comes with the bundle proves nothing.** The same applies to verify.py: this copy is only a convenience, so use a copy that you have read or got from another source. The program is short and needs only Python (3.8 or newer).

The program prints its findings and a verdict: PROVEN; PROVEN, APART FROM WHAT IS LEFT OUT; NOT PROVEN (nothing contradicts the bundle, but nothing proves it); NOT CHECKED (this is not the bundle in its original form, or the key belongs to another ledger); or BROKEN, with the first difference from what was written.

## What is in it

| file | |
|---|---|
| events.txt | ${last + 1} events in order, four lines each: id, type, data, metadata. The SHA-256 of an event's four lines is its hash, and the metadata of the next event contain this hash as \`prev\`${first > 0 ? `. Events 0 to ${first - 1} belong to the conversations that this one was forked from` : ''} |
| turns.txt | in the same form, ${turns.events} events that were recorded beside the conversation while the program worked on it: which tool calls waited for a decision, who decided on them and why (CallDecided), and which tools were started |
| requests.jsonl, parts.txt | ${requests} requests to models: a request consists of the first \`keep\` parts of the request on the previous line, followed by the lines \`add\` of parts.txt (numbered from 0), concatenated without newlines. The SHA-256 of the request is the digest in the receipt of the event at \`position\` |
| bundle.json | the id of the conversation, the number of records in the other files, and when the ledger was sealed, according to its store |
${ledger ? '| entries.jsonl | each ledger entry for an event in this bundle: the name and revision under which the event was sealed, its place in events.txt or turns.txt, and the proof that the entry is in the ledger |\n| checkpoint.txt | the signed head of the ledger (a C2SP checkpoint), with the signatures of witnesses if there are any |\n| keys.json | the ledger entries that replaced the key of the ledger, each with a head that the previous key signed |\n' : ''}| verify.py | checks all of these files, but not this README.md or any other files in the folder |

To compute the hash of the first event by hand: \`head -n 4 events.txt | head -c -1 | sha256sum\`

## What it proves

${ledger ? `- If the verdict begins with PROVEN, a ledger that was signed with the key contains the hash of the last event. Every event is therefore what it was when the ledger was signed: nobody without that key can have changed, moved, added or removed an event since then, even with write access to the database. The same applies to each earlier event at which the ledger was sealed, and to the events in turns.txt.` : '- This bundle was written without a proof from a ledger. The events are consistent with each other, but anyone who can write to the database could have fabricated all of them.'}
- Each request is, byte for byte, the one whose digest was recorded with the answer.

## What it does not prove

- That the record is true: times, names and texts are what the program wrote at the time.
- That nothing was said elsewhere: this is only one conversation.
- That nothing was said after its last event: the bundle may end at any event that was the last one when the ledger was sealed.
- What the model's provider did with a request.
- Anything against someone who has the signing key, unless a witness or another party has seen this checkpoint or an earlier one.
- That nobody else was shown a ledger with different content, unless witnesses have signed the checkpoint.
${withheld.length > 0 ? `\n## What is left out\n\nThe events ${withheld.join(', ')} are withheld. The four lines of a withheld event are: an empty line; the state of SHA-256 (in hex) before the end of the event's text, and the length of the whole text in bytes; the end of the text, in hex; and the hash of the event. The end of the text contains the hash of the preceding event. Anyone who guesses a withheld text exactly may be able to confirm the guess with the receipts of later calls.\n` : ''}${omitted > 0 ? `${withheld.length > 0 ? '\n' : '\n## What is left out\n\n'}The requests of ${omitted} calls are left out; the answers are in the bundle.\n` : ''}${authorities.map(timestamps).join('')}`

const timestamps = (authority: string): string => `
## Timestamp by ${authority}

A timestamp authority has signed a statement that this checkpoint of the ledger existed at a certain time (RFC 3161). OpenSSL can check the timestamp; ca.pem is a file with the CA certificates for the authority, which you get from the CA:

    head -n 3 checkpoint.txt > text
    grep -F '— ${authority} ' checkpoint.txt | cut -d ' ' -f 3 | base64 -d | tail -c +5 > reply.tsr
    openssl ts -verify -in reply.tsr -data text -CAfile ca.pem
    openssl ts -reply -in reply.tsr -text

The last command prints the time. If a certificate has expired since, add \`-attime\` with that time, in seconds since 1970, to the command before it.
`
