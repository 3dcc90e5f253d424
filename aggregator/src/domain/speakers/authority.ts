import { isOutside, type ChannelKey, type Reporter } from "../channel-key.ts";
import type { Names, ServiceRule, SpeakerPolicy } from "./policy.ts";
import type { Speaker } from "./speaker.ts";

/** "unknown": the cluster's objects are not listed yet. */
export type Known = "yes" | "no" | "unknown";

export interface PodFact {
  readonly namespace: string;
  readonly workload: string;
  readonly node: string | null;
}

export interface NamedWorkload {
  /** The workload's name, or the given name if no workload has it. */
  readonly name: string;
  /** True if the name may resolve to another workload later. */
  readonly mayChange: boolean;
  readonly isCurrent: boolean;
}

export function ownName(name: string): NamedWorkload {
  return { name, mayChange: false, isCurrent: true };
}

export interface ClusterFacts {
  /** Returns "unknown" also if there are no nodes. */
  isNode(name: string): Known;
  runsOn(node: string, namespace: string, workload: string): Known;
  hasMeshProxy(node: string): Known;
  /** @param ofService whether the name may be a service name from traces or flows */
  workloadNamed(namespace: string, name: string, ofService: boolean): NamedWorkload;
  podNamed(namespace: string, name: string): PodFact | Exclude<Known, "yes">;
  /** The pod with this address; "no" for nodes, Services and external addresses. */
  podAt(address: string): PodFact | Exclude<Known, "yes">;
  /** Name of an external address; null: internal or unknown. */
  outsideAt(address: string): string | null;
  /** Zone of a node; null: its object has none; undefined: unknown node. */
  zoneOf(node: string): string | null | undefined;
}

/** Nothing is known, so nothing is refused. */
export const NO_FACTS: ClusterFacts = {
  isNode: () => "unknown",
  runsOn: () => "yes",
  hasMeshProxy: () => "yes",
  workloadNamed: (_, name) => ownName(name),
  podNamed: () => "unknown",
  podAt: () => "unknown",
  outsideAt: () => null,
  zoneOf: () => null,
};

/** Permissions of a sender. Checked once per series, never per point. */
export interface Authority {
  speaksForNode(node: string): boolean;
  /** Key of a pod's usage; null: no permission. */
  podEntry(namespace: string, pod: string): string | null;
  speaksForChannel(key: ChannelKey, reporter: Reporter): Known;
}

/** Key of usage reported by the pod's own node. Reports about pods on other nodes are never read. */
export function podEntryOnNode(fullName: string, node: string): string {
  return `${fullName}@${node}`;
}

export const OPEN_AUTHORITY: Authority = {
  speaksForNode: () => true,
  podEntry: (namespace, pod) => `${namespace}/${pod}`,
  speaksForChannel: () => "yes",
};

const NO_AUTHORITY: Authority = {
  speaksForNode: () => false,
  podEntry: () => null,
  speaksForChannel: () => "no",
};

/** Permits a node its own usage, its pods, and channels with one of its pods at an end. */
class NodeAuthority implements Authority {
  readonly #node: string;
  readonly #facts: ClusterFacts;

  constructor(node: string, facts: ClusterFacts) {
    this.#node = node;
    this.#facts = facts;
  }

  speaksForNode(node: string): boolean {
    return node === this.#node;
  }

  podEntry(namespace: string, pod: string): string {
    return podEntryOnNode(`${namespace}/${pod}`, this.#node);
  }

  speaksForChannel(key: ChannelKey, reporter: Reporter): Known {
    // A waypoint may run on a node of neither end.
    if (reporter === "waypoint") return this.#facts.hasMeshProxy(this.#node);
    // A proxy runs beside its workload; the end of other reporters is unknown. Bytes received from outside
    // form a channel towards the workload.
    if (!isOutside(key)) {
      if (reporter === "source" || reporter === "linkerd")
        return this.#runsHere(key.sourceNamespace, key.source);
      if (reporter === "destination") return this.#runsHere(key.targetNamespace, key.target);
    }
    const source = this.#runsHere(key.sourceNamespace, key.source);
    return source === "yes" ? source : this.#runsHere(key.targetNamespace, key.target);
  }

  #runsHere(namespace: string, workload: string): Known {
    return this.#facts.runsOn(this.#node, namespace, workload);
  }
}

class ServiceAuthority implements Authority {
  readonly #rule: ServiceRule;

  constructor(rule: ServiceRule) {
    this.#rule = rule;
  }

  speaksForNode(node: string): boolean {
    return includes(this.#rule.nodes, node);
  }

  podEntry(namespace: string, pod: string): string | null {
    return includes(this.#rule.namespaces, namespace) ? `${namespace}/${pod}` : null;
  }

  speaksForChannel({ sourceNamespace, targetNamespace }: ChannelKey): Known {
    const { namespaces } = this.#rule;
    return includes(namespaces, sourceNamespace) || includes(namespaces, targetNamespace) ? "yes" : "no";
  }
}

function includes(names: Names, name: string): boolean {
  return names === "all" || names.has(name);
}

export function authorityOf(speaker: Speaker, policy: SpeakerPolicy, facts: ClusterFacts): Authority {
  switch (speaker.kind) {
    case "open":
      return OPEN_AUTHORITY;
    case "node":
      return new NodeAuthority(speaker.node, facts);
    case "service": {
      const rule = policy.rule(speaker.name);
      return rule === undefined ? NO_AUTHORITY : new ServiceAuthority(rule);
    }
    default:
      return speaker satisfies never;
  }
}
