// One part of the page: loaded when the first sheet of an act is opened.
export { ActSheet } from './act-sheet.tsx'
export { UndoSheet } from './undo-sheet.tsx'
