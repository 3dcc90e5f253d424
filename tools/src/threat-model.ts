// Checks docs/security.md: each line of the threat model must name an existing test.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

interface UntestedClaim {
  readonly claim: string;
  readonly reason: string;
}

const HEADING = /^#+ /;
const SECTION = /^## Threat model\b/;
const ROW = /^\|(.*)\|$/;
const RULER = /^[\s|:-]+$/;
/** Tests in a cell: `file`: *beginning of a title*, *beginning of another*. */
const TESTS = /`([^`]+\.ts)`: (\*[^*]+\*(?:, \*[^*]+\*)*)/g;
const TITLE = /\*([^*]+)\*/g;
const QUOTES = /["'`]/g;

/**
 * Lines under "Threat model" without an existing test.
 * @param document text of docs/security.md
 * @param root of the repository, to which test files are relative
 */
export function untestedClaims(document: string, root: string): UntestedClaim[] {
  return threatRows(document).flatMap((row) => {
    const claim = row.slice(0, row.indexOf("|")).trim();
    const tests = [...row.matchAll(TESTS)].flatMap(([, file, titles]) =>
      [...titles!.matchAll(TITLE)].map(([, title]) => ({ file: file!, title: title! })),
    );
    if (tests.length === 0) return [{ claim, reason: "it names no test" }];
    return tests.flatMap(({ file, title }) => {
      const path = join(root, file);
      if (!existsSync(path)) return [{ claim, reason: `there is no file ${file}` }];
      const isThere = readFileSync(path, "utf8").replace(QUOTES, "").includes(title.replace(QUOTES, ""));
      return isThere ? [] : [{ claim, reason: `${file} has no test "${title}"` }];
    });
  });
}

export function threatRows(document: string): string[] {
  const rows: string[] = [];
  let isInside = false;
  let previous = "";
  for (const line of document.split("\n")) {
    if (line.startsWith("## ")) isInside = SECTION.test(line);
    else if (isInside && !HEADING.test(line)) {
      const cells = ROW.exec(line)?.[1];
      if (cells !== undefined && RULER.test(cells)) rows.splice(rows.indexOf(previous), 1);
      else if (cells !== undefined) rows.push((previous = cells));
    }
  }
  return rows;
}
