// The cluster that the generated API server shows: its pages, its changes, and what is written to it.
import {
  deploymentObject,
  nodeNumbers,
  nodeObject,
  podNumbers,
  podObject,
  replicaSetNumbers,
  replicaSetObject,
  Template,
  workloadNumbers,
  type Numbers,
} from "./generated-objects.ts";
import { DEPLOYMENTS, NODES, PODS, REPLICA_SETS } from "./load.ts";

type WatchListener = (line: string) => void;

const FIRST_VERSION = 1_000_000;
/** Of the changes: a pod that is replaced by another one, as a rollout does. */
const REPLACED_EVERY = 10;

interface Collection {
  readonly template: Template;
  readonly count: number;
  readonly numbers: (index: number) => Numbers;
}

export class GeneratedCluster {
  readonly #ready = new Template(podObject(true));
  readonly #unready = new Template(podObject(false));
  readonly #changed = new Map<number, { readonly version: number; readonly age: number }>();
  readonly #annotations = new Map<string, Record<string, string>>();
  readonly #watchers = new Map<string, Set<WatchListener>>();
  readonly #collections: Readonly<Record<string, Collection>> = {
    pods: { template: this.#ready, count: PODS, numbers: (index) => this.#podNumbers(index) },
    replicasets: {
      template: new Template(replicaSetObject()),
      count: REPLICA_SETS,
      numbers: replicaSetNumbers,
    },
    deployments: { template: new Template(deploymentObject()), count: DEPLOYMENTS, numbers: workloadNumbers },
  };
  #changes = 0;

  /** A page of a list; kinds that aren't made up have no objects. */
  page(plural: string, query: URLSearchParams): Buffer {
    const count = plural === "nodes" ? NODES : (this.#collections[plural]?.count ?? 0);
    const from = Number(query.get("continue") ?? 0);
    const to = Math.min(count, from + Number(query.get("limit") ?? count));
    const metadata = {
      resourceVersion: String(FIRST_VERSION + PODS + this.#changes),
      ...(to < count ? { continue: String(to), remainingItemCount: count - to } : {}),
    };
    const head = `{"kind":"List","apiVersion":"v1","metadata":${JSON.stringify(metadata)},"items":[`;
    return Buffer.concat([Buffer.from(head), this.#items(plural, from, to), Buffer.from("]}")]);
  }

  /** Returns what ends it. */
  watch(plural: string, listener: WatchListener): () => void {
    const watchers = this.#watchers.get(plural) ?? new Set();
    this.#watchers.set(plural, watchers.add(listener));
    return () => watchers.delete(listener);
  }

  pod(index: number, isReady = true): string {
    return (isReady ? this.#ready : this.#unready).text(this.#podNumbers(index));
  }

  /** The next pod in turn becomes ready or unready, or is replaced by another one. */
  changePod(): void {
    this.#changes += 1;
    const index = (this.#changes * 31) % PODS;
    const { age } = this.#changed.get(index) ?? { age: 0 };
    const version = PODS + this.#changes;
    if (this.#changes % REPLACED_EVERY !== 0) {
      this.#changed.set(index, { version, age });
      this.#tell("pods", "MODIFIED", this.pod(index, this.#changes % 2 === 0));
      return;
    }
    this.#tell("pods", "DELETED", this.pod(index));
    this.#changed.set(index, { version, age: age + 1 });
    this.#tell("pods", "ADDED", this.pod(index));
  }

  /** Takes a node's annotations as an apply says them; returns the node. */
  annotateNode(name: string, annotations: Record<string, string>): string {
    this.#annotations.set(name, annotations);
    this.#changes += 1;
    const node = this.#node(Number(name.slice("node-".length)), PODS + this.#changes);
    this.#tell("nodes", "MODIFIED", node);
    return node;
  }

  #items(plural: string, from: number, to: number): Buffer {
    if (plural === "nodes") {
      const nodes = Array.from({ length: to - from }, (_, i) => this.#node(from + i, from + i));
      return Buffer.from(nodes.join(","));
    }
    const collection = this.#collections[plural];
    if (collection === undefined || to === from) return Buffer.alloc(0);
    const { template, numbers } = collection;
    const items = Buffer.allocUnsafe((to - from) * (template.bytes + 1));
    let end = 0;
    for (let index = from; index < to; index += 1) {
      end = template.write(items, end, numbers(index));
      items[end++] = 0x2c;
    }
    return items.subarray(0, end - 1);
  }

  #podNumbers(index: number): Numbers {
    return { ...podNumbers(index), ...this.#changed.get(index) };
  }

  #node(index: number, version: number): string {
    const name = `node-${String(index).padStart(6, "0")}`;
    return new Template(nodeObject(this.#annotations.get(name) ?? {})).text({
      ...nodeNumbers(index),
      version,
    });
  }

  #tell(plural: string, type: string, object: string): void {
    for (const listener of this.#watchers.get(plural) ?? [])
      listener(`{"type":"${type}","object":${object}}\n`);
  }
}
