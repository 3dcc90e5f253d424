// What all kinds of scenarios begin with.
import { basename } from "node:path";
import { Field, type Sheet } from "./field.ts";
import { openSheet } from "./sheet.ts";

interface OpenScenario {
  readonly sheet: Sheet;
  /** Without what `quick` says. */
  readonly plain: Field;
  /** With it, where a quick run is wanted. */
  readonly root: Field;
}

/** Throws ScenarioError where the text is no YAML; other mistakes are noted on the sheet. */
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

/** Fields that all kinds of scenarios share. */
export interface ScenarioHead {
  /** The file's name without its ending; names results and report. */
  readonly name: string;
  readonly title: string;
  /** One sentence. */
  readonly question: string;
  /** Paper and section or figure, or the origin of the set-up. */
  readonly source: string;
  /** Reasons why the result may mean less than it seems to. */
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
  /** Whom the others are compared with: one of the contenders. */
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
