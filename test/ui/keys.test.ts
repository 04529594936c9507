import { describe, expect, test } from 'vitest'
import { actions, isCharacter, keymap, meaningOf, nameOf, formatKey, topics } from '../../src/ui/keys.ts'

const pressed = (key: string, held: 'ctrlKey' | 'metaKey' | 'altKey' | '' = '') =>
  nameOf({ key, ctrlKey: held === 'ctrlKey', metaKey: held === 'metaKey', altKey: held === 'altKey' })

describe('the table of keys', () => {
  test('gives every key one meaning', () => {
    const all = actions.flatMap((action) => [...keymap[action].keys])
    expect(all.filter((keys, index) => all.indexOf(keys) !== index)).toEqual([])
    const begun = new Set(all.filter((keys) => keys.includes(' ')).map((keys) => keys.split(' ')[0]))
    expect(all.filter((keys) => begun.has(keys))).toEqual([])
  })

  test('names every action, under a topic', () => {
    for (const action of actions) {
      expect(topics).toContain(keymap[action].topic)
      expect(keymap[action].does).toMatch(/^[a-z]/)
    }
  })
})

describe('a key', () => {
  test('means what the table says, alone or after the beginning of a sequence', () => {
    expect(meaningOf('j', undefined)).toEqual({ action: 'next' })
    expect(meaningOf('J', undefined)).toEqual({ action: 'nextTurn' })
    expect(meaningOf('g', undefined)).toEqual({ began: 'g' })
    expect(meaningOf('g', 'g')).toEqual({ action: 'start' })
    expect(meaningOf('c', 'g')).toEqual({ action: 'conversations' })
    expect(meaningOf('j', 'g')).toEqual({ action: 'next' })
    expect(meaningOf('Q', undefined)).toBeUndefined()
  })

  test('that a keyboard has under AltGr or Option is the character that it types', () => {
    for (const key of ['[', ']', '{', '}']) {
      expect(nameOf({ key, ctrlKey: true, metaKey: false, altKey: true })).toBe(key)
      expect(pressed(key, 'altKey')).toBe(key)
    }
    expect(meaningOf('}', undefined)).toEqual({ action: 'nextCall' })
  })

  test('with Control or Command is one of ours, with Alt no letter is', () => {
    expect([pressed('k', 'ctrlKey'), pressed('K', 'metaKey'), pressed('k', 'altKey')]).toEqual([
      'Control+k',
      'Control+k',
      undefined,
    ])
    expect(meaningOf('Control+k', undefined)).toEqual({ action: 'palette' })
    expect(meaningOf('Control+j', undefined)).toBeUndefined()
  })

  test('that types a character can be told from one that does not', () => {
    expect(['j', '?', 'ArrowDown', 'Control+k'].map(isCharacter)).toEqual([true, true, false, false])
    expect(['g g', 'Control+k', 'ArrowDown', 'Enter'].map(formatKey)).toEqual(['g g', 'Ctrl+K', '↓', '⏎'])
  })
})
