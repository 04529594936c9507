import {
  type JsonFields,
  first,
  firstOf,
  invalidType,
  invalidValue,
  isFields,
  missingParameter,
  type ChatRefusal,
  strayIn,
  tooShort,
} from './body.ts'

// Rules for the content of messages: a text, or a list of parts. The types of parts depend on the role.

const partTypes: Readonly<Record<string, readonly string[]>> = {
  system: ['text'],
  developer: ['text'],
  user: ['text', 'image_url', 'input_audio', 'file'],
  assistant: ['text', 'refusal'],
  tool: ['text'],
}

export const contentProblem = (content: unknown, role: string, path: string): ChatRefusal | undefined => {
  if (typeof content === 'string') return content === '' ? tooShort(path, 'string') : undefined
  if (!Array.isArray(content)) return invalidType(path, 'a string or an array of parts')
  if (content.length === 0) return tooShort(path)
  return firstOf(content as readonly unknown[], (part, index) => partProblem(part, role, `${path}[${index}]`))
}

const partProblem = (part: unknown, role: string, path: string): ChatRefusal | undefined => {
  if (!isFields(part)) return invalidType(path, 'an object')
  const types = partTypes[role] ?? []
  const { type } = part
  if (typeof type !== 'string' || !types.includes(type))
    return invalidValue(`${path}.type`, `supported values for the role ${role} are ${types.join(', ')}`)
  return first(
    () => strayIn(part, ['type', type], path),
    () => fieldProblem(part, type, path),
  )
}

const fieldProblem = (part: JsonFields, type: string, path: string): ChatRefusal | undefined => {
  const { [type]: value } = part
  if (value === undefined) return missingParameter(`${path}.${type}`)
  if (type === 'text' || type === 'refusal') {
    if (typeof value !== 'string') return invalidType(`${path}.${type}`, 'a string')
    return value === '' ? tooShort(`${path}.${type}`, 'string') : undefined
  }
  if (!isFields(value)) return invalidType(`${path}.${type}`, 'an object')
  if (type === 'image_url') return imageProblem(value, `${path}.image_url`)
  return type === 'file' ? fileProblem(value, `${path}.file`) : undefined
}

const picture = /^data:image\/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/]+={0,2}$/

const imageProblem = (image: JsonFields, path: string): ChatRefusal | undefined => {
  const { url, detail } = image
  if (typeof url !== 'string') return missingParameter(`${path}.url`)
  if (!picture.test(url) && !/^https?:\/\/\S+$/.test(url))
    return invalidValue(`${path}.url`, 'an http(s) URL, or base64 data of a png, jpeg, gif or webp')
  if (detail !== undefined && !['auto', 'low', 'high'].includes(detail as string))
    return invalidValue(`${path}.detail`, 'auto, low or high')
  return strayIn(image, ['url', 'detail'], path)
}

const fileProblem = (file: JsonFields, path: string): ChatRefusal | undefined => {
  const { file_id: id, file_data: data, filename } = file
  if (id === undefined && data === undefined) return missingParameter(`${path}.file_id`)
  if (
    data !== undefined &&
    (typeof data !== 'string' || !/^data:[^;,]+;base64,[A-Za-z0-9+/]+={0,2}$/.test(data))
  )
    return invalidValue(`${path}.file_data`, 'base64 data of a file as a data URL')
  if (data !== undefined && typeof filename !== 'string') return missingParameter(`${path}.filename`)
  return strayIn(file, ['file_id', 'file_data', 'filename'], path)
}
