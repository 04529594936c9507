import type { KeyStore } from '../../src/index.ts'

/** Keys in a store of one's own: in memory, encrypted as by a service, as in docs/sealing.md. */
export const ownKeys = (rows: Map<string, string> = new Map<string, string>()): KeyStore => {
  const encrypt = async (text: string): Promise<string> => Buffer.from(text).toString('hex')
  const decrypt = async (text: string): Promise<string> => Buffer.from(text, 'hex').toString()
  return {
    name: 'our KMS',
    read: async (id) => {
      const row = rows.get(id)
      return row === undefined ? undefined : decrypt(row)
    },
    write: async (id, text, before) => {
      const [row, next] = [rows.get(id), await encrypt(text)]
      if ((row === undefined ? undefined : await decrypt(row)) !== before || rows.get(id) !== row)
        return false
      rows.set(id, next)
      return true
    },
    close: async () => undefined,
  }
}
