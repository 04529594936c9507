// Which blocks the API takes where, as its documentation says it (gathered from the SDK's types, the public documentation and error
// texts). Nothing of src is read here: the table is what render is judged by.

const documented = `
| role        | blocks                                                                                             |
| user        | text, image, document, search_result, tool_result, container_upload, compaction                    |
| assistant   | text, thinking, redacted_thinking, tool_use, server_tool_use, mcp_tool_use, compaction             |
| assistant   | {web_search, web_fetch, tool_search, mcp}_tool_result                                              |
| assistant   | {code_execution, bash_code_execution, text_editor_code_execution}_tool_result                      |
| system      | text                                                                                               |
| tool_result | text, image, document, search_result, tool_reference                                               |
`

const cells = documented
  .trim()
  .split('\n')
  .slice(1)
  .map((row) => row.split('|').map((cell) => cell.trim()))

/** `{a, b}_c` is `a_c, b_c`. */
const typesIn = (cell: string): readonly string[] => {
  const [, names, end = ''] = /^\{(.*)\}(\w+)$/.exec(cell) ?? []
  return (names ?? cell).split(', ').map((name) => name + end)
}

/** The types of blocks that may stand in a message of a role, or in a `tool_result`. */
export const blocksIn = (place: string): readonly string[] =>
  cells.flatMap(([, role, types = '']) => (role === place ? typesIn(types) : []))

/** Every type of block that is documented. */
export const documentedTypes: readonly string[] = [
  ...new Set(cells.flatMap(([, , types = '']) => typesIn(types))),
]

/** The results of server tools that an assistant message may hold. */
export const serverResults = blocksIn('assistant').filter((type) => type.endsWith('_tool_result'))
