import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const compose = readFileSync(new URL('../../docker-compose.yml', import.meta.url), 'utf8')
const all = (pattern: RegExp): readonly string[] =>
  [...compose.matchAll(pattern)].map(([, found = '']) => found)

test('docker-compose.yml names every image with its version', () => {
  const images = all(/image: (?:&image )?([^*\s]+)$/gm)
  expect(images).toEqual([
    'eventstore/eventstore:24.2.0-jammy',
    'postgres:18.4-bookworm',
    'eventstore/es-gencert-cli:1.0.2',
  ])
})

test('docker-compose.yml publishes ports on the loopback address only, each once', () => {
  const ports = all(/^ +- '(.*):(?:2113|5432)'$/gm)
  expect(ports).toEqual([
    '127.0.0.1:2113',
    '127.0.0.1:5432',
    '127.0.0.1:2121',
    '127.0.0.1:2122',
    '127.0.0.1:2123',
  ])
  expect(compose.match(/^ +ports:/gm)).toHaveLength(ports.length)
})
