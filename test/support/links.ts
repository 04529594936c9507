import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'

const withoutCode = (text: string): string =>
  text.replaceAll(/^ *```[\s\S]*?^ *```$/gm, '').replaceAll(/`[^`\n]*`/g, '')

/** The fragments of a document's headings, as GitHub makes them. */
const fragmentsOf = (file: string): readonly string[] => {
  const seen = new Map<string, number>()
  return [
    ...readFileSync(file, 'utf8')
      .replaceAll(/^ *```[\s\S]*?^ *```$/gm, '')
      .matchAll(/^#+ (.*)$/gm),
  ].map(([, heading = '']) => {
    const slug = heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(/\s/g, '-')
    const times = seen.get(slug) ?? 0
    seen.set(slug, times + 1)
    return times === 0 ? slug : `${slug}-${times}`
  })
}

/** The targets of a document's links. */
export const linksOf = (file: string): readonly string[] =>
  [...withoutCode(readFileSync(file, 'utf8')).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target)

/** Why a link of a document in this folder leads nowhere; undefined where it leads somewhere. Links to other sites are not followed. */
export const linkProblem = (folder: string, file: string, target: string): string | undefined => {
  if (/^[a-z]+:/.test(target)) return undefined
  const [path = '', fragment] = target.split('#')
  const to = path === '' ? file : normalize(join(dirname(file), path))
  if (!existsSync(join(folder, to))) return `${file}: no file ${to}`
  if (fragment === undefined || fragmentsOf(join(folder, to)).includes(fragment)) return undefined
  return `${file}: ${to} has no heading #${fragment}`
}

/** The links of a document in this folder that lead nowhere. */
export const brokenLinks = (folder: string, file: string): readonly string[] =>
  linksOf(join(folder, file)).flatMap((target) => linkProblem(folder, file, target) ?? [])
