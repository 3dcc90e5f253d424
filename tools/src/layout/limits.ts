// Limits held by `npm run check`. They only fall: lower them when the tree improves.

export const LIMITS = {
  unusedExports: 0,
  exportsForTestsOnly: 0,
  exportsForOwnFileOnly: 0,
  foldersOver25Files: 0,
  fileCycles: 0,
  secondDefinitions: 0,
  wideCommentLines: 0,
  wideMarkdownLines: 0,
  stringIndexReads: 99,
  casts: 241,
  // Includes dispatch.levers, dispatch.changes (how fast a cluster may change depends on its size), and the
  // eight that give a dispatcher its place, port and aggregator.
  settings: 200,
  metrics: 354,
  mutualFolders: 85,
  sharedTypeNames: 391,
  vagueComments: 0,
  commentLines: 17_900,
  productLines: 177_500,
  testLines: 187_500,
} as const;

export type Limited = keyof typeof LIMITS;
