// npm run bench:record: the time that `palimpsest record` adds to plain forwarding, and the bytes that it stores. Bodies grow as an
// agent's do. Direct calls, calls through a proxy that only forwards, and calls through the recorder take turns.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const calls = process.argv.includes('--quick') ? 40 : 200
const sizes = { '50 KB': 50_000, '400 KB': 400_000, '1.5 MB': 1_500_000 } as const
/** Bytes that each call adds to the body. */
const growth = 2_000

const reply = JSON.stringify({
  type: 'message',
  id: 'msg_1',
  role: 'assistant',
  model: 'm',
  content: [{ type: 'text', text: 'y'.repeat(200) }],
  stop_reason: 'end_turn',
  usage: { input_tokens: 1, output_tokens: 1 },
})
const upstream = createServer((request, response) => {
  request.resume()
  request.once('end', () => response.writeHead(200, { 'content-type': 'application/json' }).end(reply))
})
upstream.listen(0, '127.0.0.1')
await once(upstream, 'listening')
const direct = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`

const folder = mkdtempSync(join(tmpdir(), 'palimpsest-bench-record-'))
const children: ChildProcess[] = []
const start = async (...args: readonly string[]): Promise<string> => {
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  children.push(child)
  const [piece] = (await once(child.stdout, 'data')) as [Buffer]
  return /ANTHROPIC_BASE_URL=(\S+)/.exec(piece.toString())?.[1] ?? ''
}
const root = new URL('..', import.meta.url).pathname
const ways = {
  direct,
  forwarding: await start(join(root, 'bench/children/forwarding.ts'), direct),
  recording: await start(
    join(root, 'bin/palimpsest.js'),
    'record',
    '--store',
    `sqlite:${join(folder, 'store.db')}`,
    '--upstream',
    direct,
  ),
} as const
type Way = keyof typeof ways

/** Makes a call, and returns the milliseconds until the first byte of its reply. */
const ask = async (way: Way, session: string, body: string): Promise<number> => {
  const headers = { 'content-type': 'application/json', 'x-session-id': session }
  const begun = performance.now()
  const response = await fetch(`${ways[way]}/v1/messages`, { method: 'POST', headers, body })
  const time = performance.now() - begun
  await response.arrayBuffer()
  return time
}

const at = (times: readonly number[], share: number): number =>
  times.toSorted((a, b) => a - b)[Math.floor((times.length - 1) * share)] ?? 0
const sizeOf = (): number =>
  readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0)

let isWithin = true
for (const [name, size] of Object.entries(sizes)) {
  const times: Record<Way, number[]> = { direct: [], forwarding: [], recording: [] }
  const messages: object[] = [{ role: 'user', content: `${name} ${'x '.repeat(size / 2)}` }]
  const before = sizeOf()
  let sent = 0
  for (let call = 0; call < calls; call++) {
    const body = JSON.stringify({ model: 'm', max_tokens: 100, messages })
    sent += body.length
    for (const way of Object.keys(ways) as Way[])
      times[way].push(await ask(way, name.replaceAll(/\W/g, '-'), body))
    messages.push(
      { role: 'assistant', content: [{ type: 'text', text: 'y'.repeat(200) }] },
      {
        role: 'user',
        content: `${call} ${Math.random()
          .toString(36)
          .repeat(growth / 14)}`,
      },
    )
  }
  const rows = (Object.keys(ways) as Way[]).map(
    (way) => `${way} ${at(times[way], 0.5).toFixed(1)} / ${at(times[way], 0.95).toFixed(1)} ms`,
  )
  const [plain, recorded] = [times.forwarding, times.recording]
  const isFast = [
    [0.5, 1],
    [0.95, 5],
  ].every(
    ([share = 0, most = 0]) =>
      at(recorded, share) <= Math.max(at(plain, share) + most, at(plain, share) * 1.3),
  )
  isWithin &&= isFast
  // The last calls are still being recorded.
  await new Promise((resolve) => setTimeout(resolve, 5_000))
  const stored = sizeOf() - before
  process.stdout.write(
    `${name}: first byte, p50 / p95: ${rows.join(', ')}${isFast ? '' : ' (above the bar)'}; stored 1/${Math.round(sent / stored)} of ${Math.round(sent / 1e6)} MB\n`,
  )
}
for (const child of children) child.kill('SIGTERM')
for (const child of children) if (child.exitCode === null) await once(child, 'exit')
upstream.close()
rmSync(folder, { recursive: true })
process.exitCode = isWithin ? 0 : 1
