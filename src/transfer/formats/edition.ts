/**
 * The edition of what the library reads from files. It grows whenever a file becomes anything else than before, so that files whose
 * import was noted under an earlier one are read again. A test compares what the samples become.
 */
export const readingEdition = 1
