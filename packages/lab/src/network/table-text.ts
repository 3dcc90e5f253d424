interface TableLine {
  readonly line: number;
  readonly cells: readonly string[];
}

/**
 * Splits a table into trimmed, unquoted cells: Markdown, or separated by semicolons, commas, tabs or white
 * space, as in the first line. Skips blank lines, comments (`#`) and Markdown rulers.
 */
export function splitTable(text: string): TableLine[] {
  const lines = text
    .replace(/^\uFEFF/, "")
    .split(/\r?\n/)
    .map((line, index) => ({ line: index + 1, text: line }))
    .filter((each) => each.text.trim() !== "" && !each.text.trimStart().startsWith("#"));
  const first = lines[0]?.text ?? "";
  if (first.includes("|"))
    return lines
      .filter((each) => !/^[\s|:-]*-[\s|:-]*$/.test(each.text))
      .map(({ line, text: row }) => ({ line, cells: cellsOf(row.trim().replace(/^\||\|$/g, ""), "|") }));
  const separator = [";", ",", "\t"].find((each) => first.includes(each));
  if (separator === undefined || (separator === "\t" && !/[^\s\d.eE+-]/.test(first)))
    return lines.map(({ line, text: row }) => ({ line, cells: row.trim().split(/\s+/) }));
  return lines.map(({ line, text: row }) => ({
    line,
    // Spreadsheets that separate cells by semicolons write decimal commas.
    cells: quotedCells(separator === ";" ? row.replace(/(\d),(\d)/g, "$1.$2") : row, separator),
  }));
}

/** CSV cells: quotes may contain the separator and doubled quotes. */
function quotedCells(row: string, separator: string): string[] {
  const cells: string[] = [];
  const cell = new RegExp(` *(?:"((?:[^"]|"")*)"[^${separator}]*|([^${separator}]*))(${separator}|$)`, "y");
  for (;;) {
    const [, quoted, plain = "", end = ""] = cell.exec(row) ?? [];
    cells.push(quoted === undefined ? plain.trim() : unquoted(quoted));
    if (end === "") return cells;
  }
}

function unquoted(text: string): string {
  return text
    .replaceAll('""', '"')
    .replace(/^\s*(\d+),(\d+)/, "$1.$2")
    .trim();
}

function cellsOf(row: string, separator: string): string[] {
  return row.split(separator).map((cell) =>
    cell
      .trim()
      .replace(/^"(.*)"$/, "$1")
      .trim(),
  );
}
