import { readFileSync } from 'node:fs'
import { Ajv2020 } from 'ajv/dist/2020.js'

const schemaFile = new URL('../../docs/vcon.schema.json', import.meta.url)
const schema = JSON.parse(readFileSync(schemaFile, 'utf8')) as { readonly $id: string }
// Formats and media types are annotations: what the body of the trace holds is checked by itself.
const ajv = new Ajv2020({ strict: false, allErrors: true })
ajv.addSchema(schema)
const isVcon = ajv.getSchema(schema.$id)
const isRecord = ajv.getSchema(`${schema.$id}#/$defs/verifiable-agent-record`)

/** What docs/vcon.schema.json finds wrong with a vCon, and with the record in it. */
export const wrongWithVcon = (document: object, record: object): readonly unknown[] => {
  const wrong: unknown[] = []
  for (const [accepts, value] of [[isVcon, document] as const, [isRecord, record] as const])
    if (accepts?.(value) !== true) wrong.push(accepts?.errors ?? 'no schema')
  return wrong
}
