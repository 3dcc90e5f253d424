// Bounds on scheduling rules, which the API server doesn't limit. Pods beyond a bound aren't planned; for
// placed ones, lists are cut.
import { isList, isRecord } from "@isochrone/primitives";
import type { Container, NodeSelector, PodSpec } from "./fields.ts";
import { record, records } from "./json.ts";

export const MOST_ENTRIES = {
  topologySpreadConstraints: 16,
  podAffinity: 16,
  podAntiAffinity: 16,
  nodeAffinity: 100,
  tolerations: 100,
  volumes: 200,
  containers: 100,
  initContainers: 100,
  ports: 200,
} as const;

/** Members and entries of all rules. Each is evaluated for every kind of pod or every node. */
const MOST_RULE_PARTS = 2_000;
const MOST_RULE_CHARACTERS = 65_536;

type ListName = keyof typeof MOST_ENTRIES;

interface BoundedSpec {
  readonly spec: PodSpec;
  readonly faults: readonly string[];
}

/** Cuts every list to its bound. Returns the spec itself if all are within. */
export function boundedSpec(spec: PodSpec): BoundedSpec {
  const faults: string[] = [];
  const bounds = new SpecBounds((name, got) =>
    faults.push(`its ${name} must have at most ${MOST_ENTRIES[name]} entries, got ${got}`),
  );
  const bounded = bounds.apply(spec);
  const rules = [
    bounded.affinity,
    bounded.topologySpreadConstraints,
    bounded.tolerations,
    bounded.nodeSelector,
  ];
  if (!isLarge(rules)) return faults.length === 0 ? { spec, faults } : { spec: bounded, faults };
  faults.push(
    `its scheduling rules must have at most ${MOST_RULE_PARTS} parts and ${MOST_RULE_CHARACTERS} characters, got more`,
  );
  const {
    affinity: _,
    topologySpreadConstraints: __,
    tolerations: ___,
    nodeSelector: ____,
    ...rest
  } = bounded;
  return { spec: rest, faults };
}

class SpecBounds {
  readonly #onCut: (name: ListName, got: number) => void;

  constructor(onCut: (name: ListName, got: number) => void) {
    this.#onCut = onCut;
  }

  apply(spec: PodSpec): PodSpec {
    const affinity: Record<string, unknown> = {};
    for (const kind of ["nodeAffinity", "podAffinity", "podAntiAffinity"] as const)
      affinity[kind] = this.#affinity(kind, record(record(spec.affinity)[kind]));
    const lists: Record<string, unknown> = {};
    for (const name of ["topologySpreadConstraints", "tolerations", "volumes"] as const)
      lists[name] = this.#list(name, spec[name]);
    let left = MOST_ENTRIES.ports;
    let ports = 0;
    for (const name of ["containers", "initContainers"] as const)
      lists[name] = records<Container>(this.#list(name, spec[name])).map((container) => {
        const count = isList(container.ports) ? container.ports.length : 0;
        ports += count;
        const kept = Math.min(left, count);
        left -= kept;
        return kept === count ? container : { ...container, ports: records(container.ports).slice(0, kept) };
      });
    if (ports > MOST_ENTRIES.ports) this.#onCut("ports", ports);
    return { ...spec, ...lists, ...(spec.affinity === undefined ? {} : { affinity }) };
  }

  #affinity(kind: ListName, rules: Readonly<Record<string, unknown>>): unknown {
    return Object.fromEntries(
      Object.entries(rules).map(([when, rule]) => {
        // Required node affinity nests its terms one level deeper.
        const terms = record<NodeSelector>(rule).nodeSelectorTerms;
        return [
          when,
          terms === undefined
            ? this.#list(kind, rule)
            : { ...record(rule), nodeSelectorTerms: this.#list(kind, terms) },
        ];
      }),
    );
  }

  #list(name: ListName, list: unknown): unknown {
    const most = MOST_ENTRIES[name];
    if (!isList(list) || list.length <= most) return list;
    this.#onCut(name, list.length);
    return list.slice(0, most);
  }
}

function isLarge(rules: readonly unknown[]): boolean {
  const open: unknown[] = [...rules];
  let [parts, characters] = [0, 0];
  while (open.length > 0) {
    const value = open.pop();
    if (typeof value === "string") characters += value.length;
    else if (isList(value) || isRecord(value)) {
      const members = isList(value) ? value : Object.values(value);
      parts += members.length;
      if (isRecord(value)) characters += Object.keys(value).reduce((sum, key) => sum + key.length, 0);
      if (parts <= MOST_RULE_PARTS) for (const member of members) open.push(member);
    }
    if (parts > MOST_RULE_PARTS || characters > MOST_RULE_CHARACTERS) return true;
  }
  return false;
}
