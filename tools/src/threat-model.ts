// Holds docs/security.md to its promise: each line of the threat model names the test that shows it.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** A line of the threat model that names no test, or one that is not there. */
interface UntestedClaim {
  /** Text of the line's first cell. */
  readonly claim: string;
  readonly reason: string;
}

const HEADING = /^#+ /;
const SECTION = /^## Threat model\b/;
/** A row of a table; the line below the header holds dashes alone. */
const ROW = /^\|(.*)\|$/;
const RULER = /^[\s|:-]+$/;
/** How a cell names tests of a file: `file`: *beginning of a title*, *beginning of another*. */
const TESTS = /`([^`]+\.ts)`: (\*[^*]+\*(?:, \*[^*]+\*)*)/g;
const TITLE = /\*([^*]+)\*/g;
const QUOTES = /["'`]/g;

/**
 * The lines of the tables under "Threat model" that no test shows.
 *
 * @param document text of docs/security.md
 * @param root folder of the repository, to which the names of test files are relative
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
      // Titles may stand in any kind of quotes, and hold quotes of another kind.
      const isThere = readFileSync(path, "utf8").replace(QUOTES, "").includes(title.replace(QUOTES, ""));
      return isThere ? [] : [{ claim, reason: `${file} has no test "${title}"` }];
    });
  });
}

/** Rows of all tables in the section, without their headers. */
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
