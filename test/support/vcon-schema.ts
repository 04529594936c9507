import { readFileSync } from 'node:fs'
import { Ajv2020 } from 'ajv/dist/2020.js'

const schemaFile = new URL('../../docs/vcon.schema.json', import.meta.url)
const schema = JSON.parse(readFileSync(schemaFile, 'utf8')) as object
// Formats are annotations.
const isVcon = new Ajv2020({ strict: false, allErrors: true }).compile(schema)

/** What docs/vcon.schema.json finds wrong with a vCon. */
export const wrongWithVcon = (document: object): readonly unknown[] =>
  isVcon(document) ? [] : (isVcon.errors ?? [])
