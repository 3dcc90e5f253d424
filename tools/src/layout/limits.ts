// The limits that `npm run check` holds. A limit only falls: lower it when the tree has become better.

export const LIMITS = {
  unusedExports: 540,
  exportsForTestsOnly: 160,
  exportsForOwnFileOnly: 830,
  foldersOver25Files: 0,
  fileCycles: 11,
  wideCommentLines: 3400,
  wideMarkdownLines: 1400,
  stringIndexReads: 710,
  settings: 389,
} as const;

export type Limited = keyof typeof LIMITS;
