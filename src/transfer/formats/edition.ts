/**
 * Edition of the readers of session files. It is raised whenever their output for any file changes, so that files imported under an
 * earlier edition are read again. A test compares the output for sample files.
 */
export const readingEdition = 3
