import { basename } from "node:path";
import { Field, type Sheet } from "./field.ts";
import { openSheet } from "./sheet.ts";

interface OpenScenario {
  readonly sheet: Sheet;
  /** The scenario without `quick`. */
  readonly plain: Field;
  /** The scenario with `quick` applied in a quick run. */
  readonly root: Field;
}

/** Throws ScenarioError for invalid YAML; notes other mistakes on the sheet. */
export function openScenario(
  text: string,
  file: string,
  keys: { readonly all: readonly string[]; readonly quick: readonly string[] },
  isQuick: boolean,
): OpenScenario {
  const sheet = openSheet(text, file);
  const plain = new Field(sheet, sheet.document.contents, "", new Map()).map(...keys.all);
  const quick = plain.get("quick");
  if (quick.isPresent) quick.map(...keys.quick);
  else if (isQuick) quick.fail("must be given: the scenario says nothing of a quick run");
  return { sheet, plain, root: isQuick ? plain.over(quick) : plain };
}

export interface ScenarioHead {
  /** File name without extension; names results and report. */
  readonly name: string;
  readonly title: string;
  readonly question: string;
  /** Paper and section or figure, or origin of the setup. */
  readonly source: string;
  readonly threats: readonly string[];
}

export function readHead(root: Field, file: string): ScenarioHead {
  return {
    name: basename(file).replace(/\.ya?ml$/, ""),
    title: root.get("title").text(),
    question: root.get("question").text(),
    source: root.get("source").text(),
    threats: root
      .get("threats")
      .list()
      .map((threat) => threat.text()),
  };
}

interface Compared<C> {
  readonly contenders: readonly C[];
  readonly baseline: C;
}

export function readContenders<C extends string>(root: Field, known: readonly C[]): Compared<C> {
  const field = root.get("contenders");
  const contenders = field.someList().map((item) => item.oneOf(known));
  const twice = contenders.find((id, index) => contenders.indexOf(id) !== index);
  // An unknown contender is read as the first known one.
  if (twice !== undefined && field.list().every((item) => known.some((id) => item.isText(id))))
    field.fail(`must name each contender once, got ${twice} twice`);
  const baseline = root.get("baseline").oneOf(known);
  if (!contenders.includes(baseline))
    root.get("baseline").fail(`must be among contenders (${contenders.join(", ")}), got ${baseline}`);
  return { contenders, baseline };
}
