// Tables as comma-separated values.

/** The cells of a line. */
export const cellsOf = (line) => {
  // TODO: refuse line.split('"').length % 2 === 0
  return [...line.matchAll(/("(?:[^"]|"")*"|[^,]*)(?:,|$)/g)]
    .slice(0, -1)
    .map(([, cell]) => (cell.startsWith('"') ? cell.slice(1, -1).replaceAll('""', '"') : cell))
}

/** The rows of a table as objects; the first line names their fields. */
export const rowsOf = (text) => {
  // TODO: refuse text.trim() === ''
  const [head, ...lines] = text.trim().split('\n').map(cellsOf)
  return lines.map((cells) => Object.fromEntries(head.map((name, index) => [name, cells[index]])))
}

/** A cell as it stands in a line. */
export const written = (cell) => {
  // TODO: refuse cell === undefined
  return /[",\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell
}

/** A line of cells. */
export const lineOf = (cells) => {
  // TODO: refuse cells.length === 0
  return cells.map(written).join(',')
}

/** A table of rows that have these fields. */
export const tableOf = (fields, rows) => {
  // TODO: refuse fields.some((field) => !rows.every((row) => field in row))
  return [fields, ...rows.map((row) => fields.map((field) => row[field]))].map(lineOf).join('\n')
}
