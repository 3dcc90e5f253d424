// Table of the chart's values, from the comments in values.yaml that begin with two dashes. Parsed by line:
// YAML parsers handle comments badly.

interface ChartValue {
  readonly path: string;
  readonly description: string;
  readonly default: string;
}

interface Line {
  readonly indent: number;
  readonly text: string;
}

export function chartValues(text: string): ChartValue[] {
  const lines = text
    .split("\n")
    .map((line) => ({ indent: line.length - line.trimStart().length, text: line.trim() }))
    .filter((line) => line.text !== "");
  return valuesOf(lines, []);
}

export function chartValuesTable(values: readonly ChartValue[]): string {
  const rows = values.map(
    ({ path, description, default: value }) => `| \`${path}\` | ${cell(description)} | \`${cell(value)}\` |`,
  );
  return ["| Value | Meaning | Default |", "| --- | --- | --- |", ...rows].join("\n");
}

function valuesOf(lines: readonly Line[], path: readonly string[]): ChartValue[] {
  const values: ChartValue[] = [];
  let comment: string[] = [];
  for (let index = 0; index < lines.length; index++) {
    const { indent, text } = lines[index]!;
    if (text.startsWith("#")) {
      comment.push(text.slice(1).trim());
      continue;
    }
    const found = /^([A-Za-z]+):\s*(.*)$/.exec(text);
    if (found === null) throw new Error(`values.yaml: "${text}" is no key in ${path.join(".")}`);
    const here = [...path, found[1]!];
    const end = endOfBlock(lines, index + 1, indent);
    const block = lines.slice(index + 1, end);
    values.push(...valueOf(here, descriptionOf(comment), found[2]!, block));
    comment = [];
    index = end - 1;
  }
  return values;
}

/** A map with described entries is split into them, otherwise one value. */
function valueOf(
  path: readonly string[],
  description: string | null,
  value: string,
  block: readonly Line[],
): ChartValue[] {
  if (block.some(({ text }) => text.startsWith("# -- "))) return valuesOf(block, path);
  if (description === null) throw new Error(`values.yaml: ${path.join(".")} has no comment "# --"`);
  const text = value === "" ? block.map((line) => line.text).join(", ") : value;
  return [{ path: path.join("."), description, default: text }];
}

/** Comments before the next key belong to that key. */
function endOfBlock(lines: readonly Line[], from: number, indent: number): number {
  const end = lines.findIndex((line, index) => index >= from && line.indent <= indent);
  return end === -1 ? lines.length : end;
}

function descriptionOf(comment: readonly string[]): string | null {
  const first = comment.findLastIndex((line) => line.startsWith("-- "));
  return first === -1 ? null : [comment[first]!.slice("-- ".length), ...comment.slice(first + 1)].join(" ");
}

function cell(text: string): string {
  return text.replaceAll("|", String.raw`\|`);
}
