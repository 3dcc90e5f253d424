import { isOutside, type ChannelKey, type Reporter } from "../channel-key.ts";
import type { Names, ServiceRule, SpeakerPolicy } from "./policy.ts";
import type { Speaker } from "./speaker.ts";

/** "unknown": the cluster's objects are still being listed. */
export type Known = "yes" | "no" | "unknown";

/** Whose pod it is, and where. */
export interface PodFact {
  readonly namespace: string;
  /** A bare pod is its own. */
  readonly workload: string;
  readonly node: string | null;
}

/** The workload that a source means by a name. */
export interface NamedWorkload {
  /** The name itself if it is no other workload's. */
  readonly name: string;
  /** Whether the name may mean another workload later. */
  readonly mayChange: boolean;
  /** False once it does. */
  readonly isCurrent: boolean;
}

/** A name that means itself, for good. */
export function ownName(name: string): NamedWorkload {
  return { name, mayChange: false, isCurrent: true };
}

/** What the cluster's objects say of what telemetry names. */
export interface ClusterFacts {
  /** "unknown" also where there are no nodes at all. */
  isNode(name: string): Known;
  /** Whether one of the workload's pods runs on the node. */
  runsOn(node: string, namespace: string, workload: string): Known;
  /** Whether a waypoint, or another proxy that a mesh's control plane made, runs on the node. */
  hasMeshProxy(node: string): Known;
  /** @param ofService whether the name may be that of a service in traces or flows */
  workloadNamed(namespace: string, name: string, ofService: boolean): NamedWorkload;
  podNamed(namespace: string, name: string): PodFact | Exclude<Known, "yes">;
  /** The pod that has the address; "no" for nodes, Services and the world outside. */
  podAt(address: string): PodFact | Exclude<Known, "yes">;
  /** What an address outside of the cluster is called; null: it is within, or nothing is known of that. */
  outsideAt(address: string): string | null;
  /** The zone of a node, null where its object names none; undefined while the node isn't known. */
  zoneOf(node: string): string | null | undefined;
}

/** Nothing is known, and nothing is refused for that. */
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

/** What a speaker may speak of. It is asked once per series, never per point. */
export interface Authority {
  speaksForNode(node: string): boolean;
  /** Under which name the usage of a pod is kept; null: it is not the speaker's to tell. */
  podEntry(namespace: string, pod: string): string | null;
  speaksForChannel(key: ChannelKey, reporter: Reporter): Known;
}

/**
 * Where the usage of a pod is kept that its own node's speaker tells: what is said of pods elsewhere is never
 * read.
 */
export function podEntryOnNode(fullName: string, node: string): string {
  return `${fullName}@${node}`;
}

/** Of everything. */
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

/** Its node, the pods there, and channels that one of them is an end of. */
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
    // A waypoint stands beside the way of others: neither end need be near it.
    if (reporter === "waypoint") return this.#facts.hasMeshProxy(this.#node);
    // A proxy counts beside its own workload; of others it is not told which end they saw. With the outside,
    // bytes that a workload receives are a channel towards it.
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

/** What an operator has said. */
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

/** What this speaker may speak of; of a service that no rule names, nothing. */
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
