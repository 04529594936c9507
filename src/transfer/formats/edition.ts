/**
 * Edition of the library's output from files. It is raised whenever the output for any file changes, so that files whose import was
 * noted under an earlier edition are read again. A test compares the output for the samples.
 */
export const readingEdition = 1
