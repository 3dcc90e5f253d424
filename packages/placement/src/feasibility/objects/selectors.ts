// As k8s.io/apimachinery and component-helpers/scheduling/corev1/nodeaffinity.
import type { NodeSelector, NodeSelectorTerm, Requirement } from "./fields.ts";
import { labelOf, record, records, text, textMembers, texts, type Labels } from "./json.ts";

export interface LabelSelector {
  /** True for `{}`. A missing selector matches nothing, an empty one everything. */
  readonly matchesAll: boolean;
  matches(labels: Labels): boolean;
}

type Test = (labels: Labels) => boolean;

const NOTHING: LabelSelector = { matchesAll: false, matches: () => false };
const EVERYTHING: LabelSelector = { matchesAll: true, matches: () => true };

export function labelSelector(selector: unknown): LabelSelector | null {
  if (selector === undefined || selector === null) return NOTHING;
  const { matchLabels, matchExpressions } = record(selector);
  const tests: Test[] = Object.entries(textMembers(matchLabels)).map(
    ([key, value]) =>
      (labels) =>
        labelOf(labels, key) === value,
  );
  for (const expression of records<Requirement>(matchExpressions)) {
    const operator = text(expression.operator);
    const test = operator === "Gt" || operator === "Lt" ? null : requirement(expression);
    if (test === null) return null;
    tests.push(test);
  }
  return tests.length === 0 ? EVERYTHING : allOf(tests);
}

export function withLabels(selector: LabelSelector, labels: Labels): LabelSelector {
  const entries = Object.entries(labels);
  if (entries.length === 0 || selector === NOTHING) return selector;
  const test: Test = (all) => entries.every(([key, value]) => labelOf(all, key) === value);
  return allOf(selector.matchesAll ? [test] : [test, (all) => selector.matches(all)]);
}

interface SelectedNode {
  readonly name: string;
  readonly labels: Labels;
}

export type NodeTest = (node: SelectedNode) => boolean;

/**
 * Terms are alternatives. An empty or invalid term matches no node.
 * @param fields whether matchFields count; not for PersistentVolumes
 */
export function nodeSelector(selector: unknown, fields = true): NodeTest {
  const terms = records(record<NodeSelector>(selector).nodeSelectorTerms)
    .map((term) => nodeTerm(term, fields))
    .filter((term) => term !== null);
  return (node) => terms.some((term) => term(node));
}

function nodeTerm(term: NodeSelectorTerm, fields: boolean): NodeTest | null {
  const byLabels = records(term.matchExpressions).map(requirement);
  const byFields = records(term.matchFields).map(fieldRequirement);
  if (byLabels.length + byFields.length === 0 || [...byLabels, ...byFields].includes(null)) return null;
  return (node) =>
    byLabels.every((test) => test!(node.labels)) && (!fields || byFields.every((test) => test!(node)));
}

function fieldRequirement(expression: Requirement): NodeTest | null {
  const values = texts(expression.values);
  const operator = text(expression.operator);
  if (values.length !== 1 || (operator !== "In" && operator !== "NotIn")) return null;
  const wanted = operator === "In";
  const isName = text(expression.key) === "metadata.name";
  return ({ name }) => ((isName ? name : "") === values[0]) === wanted;
}

function requirement(expression: Requirement): Test | null {
  const key = text(expression.key);
  const values = texts(expression.values);
  switch (text(expression.operator)) {
    case "In": {
      const set = new Set(values);
      return values.length === 0 ? null : (labels) => set.has(labelOf(labels, key)!);
    }
    case "NotIn": {
      const set = new Set(values);
      return values.length === 0 ? null : (labels) => !set.has(labelOf(labels, key)!);
    }
    case "Exists":
      return values.length > 0 ? null : (labels) => labelOf(labels, key) !== undefined;
    case "DoesNotExist":
      return values.length > 0 ? null : (labels) => labelOf(labels, key) === undefined;
    case "Gt":
      return comparison(key, values, (label, bound) => label > bound);
    case "Lt":
      return comparison(key, values, (label, bound) => label < bound);
    default:
      return null;
  }
}

function comparison(
  key: string,
  values: readonly string[],
  holds: (label: bigint, bound: bigint) => boolean,
): Test | null {
  const bound = values.length === 1 ? int64(values[0]!) : null;
  if (bound === null) return null;
  return (labels) => {
    const label = int64(labelOf(labels, key) ?? "");
    return label !== null && holds(label, bound);
  };
}

function int64(text: string): bigint | null {
  if (!/^[+-]?\d+$/.test(text)) return null;
  const value = BigInt(text.startsWith("+") ? text.slice(1) : text);
  return BigInt.asIntN(64, value) === value ? value : null;
}

function allOf(tests: readonly Test[]): LabelSelector {
  return { matchesAll: false, matches: (labels) => tests.every((test) => test(labels)) };
}
