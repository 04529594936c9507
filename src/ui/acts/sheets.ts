// Separate part of the code, loaded when the first sheet for a command is opened.
export { ActSheet } from './act-sheet.tsx'
export { UndoSheet } from './undo-sheet.tsx'
