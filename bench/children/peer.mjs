// Runs a peer (peers/FILE, in a variant of it) on a folder: does what the parent process asks, one thing at a time, and answers how
// many milliseconds that took, how many messages it gave back, and what the peer is. Plain JavaScript, as the system's Node may be old.
const [, , file, folder, variant] = process.argv
const { peer } = await import(new URL(`../peers/${file}`, import.meta.url).href)
const { name, durable, open } = peer(variant)
let opened = {}

const work = async ([what, ...given]) => {
  if (what !== 'open') return opened[what](...given)
  opened = await open(folder)
  return undefined
}

process.on('message', async (asked) => {
  const start = performance.now()
  const messages = await work(asked)
  const ms = performance.now() - start
  process.send?.({ ms, found: messages?.length, name, durable, has: Object.keys(opened) })
})
