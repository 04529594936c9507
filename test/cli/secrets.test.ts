import * as fc from 'fast-check'
import { openStore } from 'palimpsest'
import { describe, expect, test } from 'vitest'
import { esdbSettings } from '../../src/store/eventstoredb/settings.ts'
import { withoutCredentials, withoutSecrets } from '../../src/api/secrets.ts'
import { inDirectory, shell } from './palimpsest.ts'

const urls = [
  'esdb://dana:s3cret@127.0.0.1:1?tls=false&defaultDeadline=99&patience=1',
  'esdb+discover://dana:s3cret@127.0.0.1:0',
  'kurrentdb://dana:s3cret@127.0.0.1:0',
  'esdb://dana:s3cret%40127.0.0.1:1',
  'esdb://dana:s3cret',
  'esdb://dana:s3cret@',
  'esdb:/dana:s3cret@host',
  'esdb:dana:s3cret@host',
  'esdb://dana:x y s3cret@host?defaultDeadline=99&patience=1',
  'esdb://dana:"s3cret@h?tls=false&defaultDeadline=99&patience=1',
  'esdb://host:1?password=s3cret',
  'mongodb://dana:s3cret@127.0.0.1/db',
  'postgres://dana:s3cret%40127.0.0.1/db',
  'https://example.org/?access_token=s3cret',
  'dana:s3cret@host',
  'sqlite://dana:s3cret@host/a.db',
  'sqlite://dana%3As3cret%40host/a.db',
  'sqlite:a.db?password=s3cret',
  'ESDB://dana:s3cret@host',
]

describe('a password in a URL', () => {
  test.each(urls)('is in no error of the library: %s', async (url) => {
    const failed = await openStore(url, { create: false }).then(
      () => expect.fail('opened'),
      (error: unknown) => error,
    )
    const { cause: _, stack: __, ...told } = failed as Error
    expect(JSON.stringify({ ...told, message: (failed as Error).message })).not.toContain('s3cret')
  })

  test('is printed nowhere by the command line: not in help, errors or JSON', async () => {
    await inDirectory(async (directory) => {
      for (const url of [0, 2, 7].map((n) => urls[n] ?? '')) {
        const said = [
          'list',
          '--help',
          `lst --store='${url}'`,
          `list '--stroe=${url}' --json`,
          `import '${url}'`,
        ]
        const commands = said.map((command) => `palimpsest ${command}`).join('\n')
        const { stdout, stderr } = await shell(commands, directory, { PALIMPSEST_STORE: url })
        expect(stdout + stderr).not.toContain('s3cret')
        expect(stderr).not.toContain('bug')
        expect(stderr.match(/^(error:|{"error")/gm)?.length).toBe(4)
      }
    })
  })

  test('is not in the commands that start prints', () => {
    expect(withoutCredentials('esdb://dana:s3cret@host:2113?tls=false')).toBe('esdb://host:2113?tls=false')
    expect(withoutCredentials('sqlite:a@b.db')).toBe('sqlite:a@b.db')
  })

  test('is taken out of every text that repeats what was typed; the rest stays', () => {
    const secret = fc.string({ minLength: 6, maxLength: 12 }).filter((text) => !/^[\s.…@]*$/.test(text))
    fc.assert(
      fc.property(
        secret,
        fc.constantFrom('esdb://', 'mongodb://', 'esdb+discover://'),
        (password, scheme) => {
          const url = `${scheme}dana:<${password}>@host`
          const told = withoutSecrets(`unknown command '--store=${url}' here`, ['list', `--store=${url}`])
          expect(told).toBe(`unknown command '--store=${scheme}…@host' here`)
        },
      ),
    )
    const plain =
      'there is no store at sqlite:/home/dana@work/a.db: name another (see https://example.org/a?b=c)'
    expect(withoutSecrets(plain)).toBe(plain)
    expect(withoutSecrets('sqlite:///home/dana@work/a.db')).toBe('sqlite:///home/dana@work/a.db')
  })

  test('and a host that may be one is not told of', () => {
    for (const url of ['esdb://dana:123456', 'esdb://dana:123456789', 'esdb://dana:12345x'])
      expect(JSON.stringify(esdbSettings(url, {}))).not.toMatch(/12345/)
    expect(JSON.stringify(esdbSettings('esdb://[::1]:2113', {}))).toContain('"url":"esdb://[::1]:2113"')
  })

  test('a text of two million characters takes no longer than to read it, whatever it repeats', () => {
    // With a regular expression that tries again at every character, each of these takes an hour.
    for (const part of [
      'a',
      '1',
      'a1.',
      'esdb:',
      'http://',
      '?',
      '&pass',
      '?token',
      '=',
      'a=',
      'a&=b?',
      '%4',
      'é ',
    ]) {
      const text = part.repeat(2_000_000 / part.length)
      expect(withoutSecrets(text, [text])).toBe(text)
    }
  })

  const pieces = [
    'a',
    '1',
    '+',
    ':',
    '/',
    '://',
    'esdb:',
    'http://',
    'sqlite:///',
    '@',
    '%40',
    ' ',
    '?',
    '&',
    '=',
    'pass',
    "'",
  ]
  test('every URL loses what the plain regular expressions find, and nothing else', () => {
    const userinfo =
      /((?<![a-z0-9+.-])(?!sqlite:\/\/\/)[0-9+.-]*[a-z][a-z0-9+.-]*:\/\/|esdb(?:\+discover)?:\/?)\S*(?:@|%40)/gi
    const parameters = /([?&][^=&\s]*(?:pass|pwd|secret|token|key|auth|credential)[^=&\s]*=)[^&\s'"]*/gi
    const text = fc.array(fc.constantFrom(...pieces), { maxLength: 24 }).map((parts) => parts.join(''))
    fc.assert(
      fc.property(text, (typed) => {
        const plain = typed.replaceAll(userinfo, '$1…@').replaceAll(parameters, '$1…')
        expect(withoutSecrets(typed)).toBe(plain)
      }),
      { numRuns: 2_000 },
    )
  })

  test('a word that repeats itself with `$&` is hidden all the same', () => {
    const url = 'esdb://dana:my s3cret@host/$&'
    expect(withoutSecrets(`no store at ${url}`, [url])).toBe('no store at esdb://…@host/$&')
  })
})
