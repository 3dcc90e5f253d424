import type { Clock } from "@isochrone/runtime";
import { rawAddressOf, type Outside } from "@isochrone/telemetry/outside";
import type { ClusterNodes, ClusterState } from "../domain/cluster-state.ts";
import {
  ownName,
  type ClusterFacts,
  type Known,
  type NamedWorkload,
  type PodFact,
} from "../domain/speakers/authority.ts";
import { AliasIndex } from "./alias-index.ts";

export interface WatchedCluster {
  current(): ClusterState;
  nodes(): ClusterNodes;
  pending(): readonly string[];
}

/** Minimum age of the index before a miss rebuilds it. Pods change many times per second. */
const REBUILD_MS = 1_000;
/** Maximum age of the index for resolved names, which are used for every point. */
const NAMES_REBUILD_MS = 10_000;
const MAX_AMBIGUOUS = 1_000;

interface AskedName {
  readonly namespace: string;
  readonly name: string;
  readonly ofService: boolean;
}

class ResolvedName implements NamedWorkload {
  readonly name: string;
  readonly mayChange = true;
  readonly #resolved: () => string;
  readonly #indexNow: () => AliasIndex;
  #index: AliasIndex;
  #isCurrent = true;

  constructor(resolved: () => string, indexNow: () => AliasIndex) {
    this.#index = indexNow();
    this.#resolved = resolved;
    this.#indexNow = indexNow;
    this.name = resolved();
  }

  get isCurrent(): boolean {
    const index = this.#indexNow();
    if (index !== this.#index && this.#isCurrent) {
      this.#index = index;
      this.#isCurrent = this.#resolved() === this.name;
    }
    return this.#isCurrent;
  }
}

interface OnNode {
  /** Keys `namespace/name` of workloads, and of pods without a workload. */
  readonly workloads: Set<string>;
  hasMeshProxy: boolean;
}

interface PodsBy {
  readonly node: ReadonlyMap<string, OnNode>;
  readonly name: ReadonlyMap<string, PodFact>;
  readonly address: ReadonlyMap<string, PodFact>;
}

/** Answers questions about nodes and their pods. Indexes are built on demand. */
export class WatchedFacts implements ClusterFacts {
  readonly #watch: WatchedCluster;
  readonly #clock: Clock;
  #nodes: ClusterNodes["nodes"] | null = null;
  #zones: ReadonlyMap<string, string | null> = new Map();
  #pods: ClusterState["pods"] | null = null;
  #named: Pick<ClusterState, "pods" | "workloads"> | null = null;
  #names = new AliasIndex({ pods: [], workloads: [] });
  #namedMs = Number.NEGATIVE_INFINITY;
  readonly #ambiguous = new Map<string, AskedName>();
  #by: PodsBy = { node: new Map(), name: new Map(), address: new Map() };
  #builtMs = Number.NEGATIVE_INFINITY;
  #isListed = false;
  readonly #outside: Outside | null;
  readonly #onAmbiguous: (workload: string) => void;

  /**
   * @param outside null: no external destination is known
   * @param onAmbiguous called with `namespace/name` of a name in use that several workloads have
   */
  constructor(
    watch: WatchedCluster,
    clock: Clock,
    outside: Outside | null = null,
    onAmbiguous: (workload: string) => void = () => undefined,
  ) {
    this.#watch = watch;
    this.#clock = clock;
    this.#outside = outside;
    this.#onAmbiguous = onAmbiguous;
  }

  get ambiguousNames(): number {
    return this.#ambiguous.size;
  }

  isNode(name: string): Known {
    const zones = this.#zonesNow();
    if (zones.size === 0) return "unknown";
    return zones.has(name) ? "yes" : "no";
  }

  zoneOf(node: string): string | null | undefined {
    return this.#zonesNow().get(node);
  }

  /** Zones by node; empty until nodes are listed. */
  #zonesNow(): ReadonlyMap<string, string | null> {
    if (!this.#hasAll()) return this.#zones;
    const { nodes } = this.#watch.nodes();
    if (nodes !== this.#nodes) {
      this.#nodes = nodes;
      this.#zones = new Map(nodes.map(({ name, zone }) => [name, zone]));
    }
    return this.#zones;
  }

  runsOn(node: string, namespace: string, workload: string): Known {
    return this.#ask((): boolean => {
      return this.#by.node.get(node)?.workloads.has(`${namespace}/${workload}`) ?? false;
    });
  }

  hasMeshProxy(node: string): Known {
    return this.#ask(() => this.#by.node.get(node)?.hasMeshProxy ?? false);
  }

  /** A pod's name resolves to its workload unless a workload has that name. */
  workloadNamed(namespace: string, name: string, ofService: boolean): NamedWorkload {
    const asked = { namespace, name, ofService };
    const index = this.#namesOf(REBUILD_MS);
    const { workload, isAmbiguous } = index.resolve(namespace, name, ofService);
    if (isAmbiguous) this.#noteAmbiguous(asked);
    if (workload === name) return ownName(name);
    const resolved = (): string => this.#resolve(asked);
    return new ResolvedName(resolved, () => this.#namesOf(NAMES_REBUILD_MS));
  }

  #resolve({ namespace, name, ofService }: AskedName): string {
    const { workload, isAmbiguous } = this.#names.resolve(namespace, name, ofService);
    if (workload !== null) return workload;
    const pod = isAmbiguous ? "no" : this.podNamed(namespace, name);
    return typeof pod === "object" ? pod.workload : name;
  }

  /** Returns the index of names. Rebuilds it if it is older than `maxAgeMs` and the cluster has changed. */
  #namesOf(maxAgeMs: number): AliasIndex {
    const nowMs = this.#clock.monotonic();
    if (nowMs - this.#namedMs < maxAgeMs || !this.#hasAll()) return this.#names;
    this.#namedMs = nowMs;
    const { pods, workloads } = this.#watch.current();
    if (pods === this.#named?.pods && workloads === this.#named.workloads) return this.#names;
    this.#named = { pods, workloads };
    this.#names = new AliasIndex(this.#named);
    for (const [key, { namespace, name, ofService }] of this.#ambiguous)
      if (!this.#names.resolve(namespace, name, ofService).isAmbiguous) this.#ambiguous.delete(key);
    return this.#names;
  }

  #noteAmbiguous(asked: AskedName): void {
    const key = `${asked.namespace}/${asked.name}`;
    if (this.#ambiguous.has(key) || this.#ambiguous.size >= MAX_AMBIGUOUS) return;
    this.#ambiguous.set(key, asked);
    this.#onAmbiguous(key);
  }

  podNamed(namespace: string, name: string): PodFact | Exclude<Known, "yes"> {
    return this.#find(() => this.#by.name.get(`${namespace}/${name}`));
  }

  podAt(address: string): PodFact | Exclude<Known, "yes"> {
    return this.#find(() => this.#by.address.get(address));
  }

  outsideAt(address: string): string | null {
    const raw = rawAddressOf(address);
    return raw === null ? null : (this.#outside?.nameOf(raw) ?? null);
  }

  #find(look: () => PodFact | undefined): PodFact | Exclude<Known, "yes"> {
    if (!this.#hasAll()) return "unknown";
    this.#refresh();
    return look() ?? "no";
  }

  /** A negative answer may be stale. */
  #ask(isSo: () => boolean): Known {
    if (!this.#hasAll()) return "unknown";
    if (isSo()) return "yes";
    return this.#refresh() && isSo() ? "yes" : "no";
  }

  /** Rebuilds the index of pods, at most once a second. Returns false if nothing has changed. */
  #refresh(): boolean {
    const nowMs = this.#clock.monotonic();
    if (nowMs - this.#builtMs < REBUILD_MS) return false;
    const { pods } = this.#watch.current();
    if (pods === this.#pods) return false;
    this.#builtMs = nowMs;
    this.#pods = pods;
    this.#by = indexed(pods);
    return true;
  }

  #hasAll(): boolean {
    this.#isListed ||= this.#watch.pending().length === 0;
    return this.#isListed;
  }
}

function indexed(pods: ClusterState["pods"]): PodsBy {
  const byNode = new Map<string, OnNode>();
  const byName = new Map<string, PodFact>();
  const byAddress = new Map<string, PodFact>();
  for (const { node, namespace, name, workload: owner, isMeshProxy, addresses = [] } of pods) {
    const workload = owner?.name ?? name;
    const fact = { namespace, workload, node };
    byName.set(`${namespace}/${name}`, fact);
    for (const address of addresses) byAddress.set(address, fact);
    if (node === null) continue;
    let here = byNode.get(node);
    if (here === undefined) byNode.set(node, (here = { workloads: new Set(), hasMeshProxy: false }));
    here.workloads.add(`${namespace}/${workload}`);
    here.hasMeshProxy ||= isMeshProxy === true;
  }
  return { node: byNode, name: byName, address: byAddress };
}
