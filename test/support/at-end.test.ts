import { expect, test } from 'vitest'
import { atEnd, closeAll } from './at-end.ts'

test('what is to be closed is closed, last thing first, though a part of it fails; its failures are told', async () => {
  const closed: string[] = []
  const fails = (name: string) => (): Promise<never> => {
    closed.push(name)
    return Promise.reject(new Error(`${name} fails`))
  }
  const works = (name: string) => (): void => void closed.push(name)
  atEnd(works('store'), fails('server'), works('page'))
  await expect(closeAll()).rejects.toThrow('server fails')
  expect(closed).toEqual(['page', 'server', 'store'])
  atEnd(fails('store'), works('server'), fails('page'))
  await expect(closeAll()).rejects.toThrow(/page fails[^]*store fails/)
  expect(closed).toEqual(['page', 'server', 'store', 'page', 'server', 'store'])
  await closeAll()
})
