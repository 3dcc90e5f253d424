// Interns namespace and labels, so that a selector is evaluated once per distinct set.
import { labelSelector, type LabelSelector } from "./selectors.ts";
import type { AffinityTerm } from "./fields.ts";
import { text, texts, type Labels } from "./json.ts";

/** Equal namespace and labels share one object. */
export interface LabelSet {
  readonly namespace: string;
  readonly labels: Labels;
}

export class LabelSets {
  readonly #known = new Map<string, LabelSet>();

  get size(): number {
    return this.#known.size;
  }

  of(namespace: string, labels: Labels): LabelSet {
    const key = JSON.stringify([namespace, labels]);
    let set = this.#known.get(key);
    if (set === undefined) {
      set = { namespace, labels };
      this.#known.set(key, set);
    }
    return set;
  }
}

export const MAX_ANSWERS = 256;

export class LabelSetTest {
  readonly #test: (set: LabelSet) => boolean;
  readonly #answers = new Map<LabelSet, boolean>();

  constructor(test: (set: LabelSet) => boolean) {
    this.#test = test;
  }

  matches(set: LabelSet): boolean {
    let answer = this.#answers.get(set);
    if (answer === undefined) {
      answer = this.#test(set);
      if (this.#answers.size >= MAX_ANSWERS) this.#answers.clear();
      this.#answers.set(set, answer);
    }
    return answer;
  }
}

export interface PodTerm {
  readonly topologyKey: string;
  readonly test: LabelSetTest;
  /** Key of the term, equal for equivalent terms; used in messages and to merge them. */
  readonly key: string;
}

export type NamespaceLabels = (namespace: string) => Labels;

/**
 * As newAffinityTerm of kube-scheduler/framework. Null: an invalid selector. The API server has already
 * merged matchLabelKeys into labelSelector.
 */
export function podTerm(term: AffinityTerm, own: string, labelsOf: NamespaceLabels): PodTerm | null {
  const selector = labelSelector(term.labelSelector);
  const bySelector = labelSelector(term.namespaceSelector);
  if (selector === null || bySelector === null) return null;
  const named = texts(term.namespaces);
  const isOwn = named.length === 0 && (term.namespaceSelector ?? null) === null;
  const namespaces = new Set(isOwn ? [own] : named);
  const topologyKey = text(term.topologyKey);
  const selects = inNamespaces(namespaces, bySelector, labelsOf);
  return {
    topologyKey,
    test: new LabelSetTest((set) => selects(set.namespace) && selector.matches(set.labels)),
    key: JSON.stringify([topologyKey, [...namespaces].sort(), term.namespaceSelector, term.labelSelector]),
  };
}

function inNamespaces(
  named: ReadonlySet<string>,
  selector: LabelSelector,
  labelsOf: NamespaceLabels,
): (namespace: string) => boolean {
  return (namespace) => named.has(namespace) || selector.matches(labelsOf(namespace));
}
