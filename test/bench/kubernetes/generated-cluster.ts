// The cluster behind the generated API server: its pages, its changes and its writes.
import { binaryEvent, binaryItem, binaryObject } from "@isochrone/kubernetes/testing";
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

type WatchListener = (event: Buffer) => void;
type EventType = "ADDED" | "MODIFIED" | "DELETED";

/** JSON, or the binary form, which only pods have here. */
export type Form = "json" | "binary";

const POD = { apiVersion: "v1", kind: "Pod" };
const LINE_END = Buffer.from("}\n");
const COMMA = Buffer.from(",");

const FIRST_VERSION = 1_000_000;
/** One of this many changes replaces a pod by another, like a rollout. */
const REPLACED_EVERY = 10;

interface Collection {
  readonly template: Template;
  readonly count: number;
  readonly numbers: (index: number) => Numbers;
}

export class GeneratedCluster {
  readonly #ready = new Template(podObject(true));
  readonly #binaryPod = new Template(podObject(true), binaryItem);
  /** Templates by form, type and readiness of the pod. */
  readonly #podEvents = new Map<string, Template>();
  readonly #changed = new Map<number, { readonly version: number; readonly age: number }>();
  readonly #annotations = new Map<string, Record<string, string>>();
  readonly #watchers = new Map<string, Map<WatchListener, Form>>();
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

  page(plural: string, query: URLSearchParams, form: Form): Buffer {
    const count = plural === "nodes" ? NODES : (this.#collections[plural]?.count ?? 0);
    const from = Number(query.get("continue") ?? 0);
    const to = Math.min(count, from + Number(query.get("limit") ?? count));
    const metadata = {
      resourceVersion: String(FIRST_VERSION + PODS + this.#changes),
      ...(to < count ? { continue: String(to), remainingItemCount: count - to } : {}),
    };
    if (form === "binary") {
      const items = written(this.#binaryPod, from, to, (index) => this.#podNumbers(index));
      return binaryObject({ apiVersion: "v1", kind: "PodList", metadata }, items);
    }
    const head = `{"kind":"List","apiVersion":"v1","metadata":${JSON.stringify(metadata)},"items":[`;
    return Buffer.concat([Buffer.from(head), this.#items(plural, from, to), Buffer.from("]}")]);
  }

  watch(plural: string, form: Form, listener: WatchListener): () => void {
    const watchers = this.#watchers.get(plural) ?? new Map<WatchListener, Form>();
    this.#watchers.set(plural, watchers.set(listener, form));
    return () => watchers.delete(listener);
  }

  podEvent(form: Form, type: EventType, index: number, isReady = true): Buffer {
    const key = `${form} ${type} ${isReady}`;
    const template =
      this.#podEvents.get(key) ??
      new Template(podObject(isReady), (pod) =>
        form === "json" ? eventLine(type, pod) : binaryEvent(type, binaryObject({ ...POD, ...pod })),
      );
    this.#podEvents.set(key, template);
    return template.object(this.#podNumbers(index));
  }

  changePod(): void {
    this.#changes += 1;
    const index = (this.#changes * 31) % PODS;
    const { age } = this.#changed.get(index) ?? { age: 0 };
    const version = PODS + this.#changes;
    if (this.#changes % REPLACED_EVERY !== 0) {
      this.#changed.set(index, { version, age });
      this.#tellPod("MODIFIED", index, this.#changes % 2 === 0);
      return;
    }
    this.#tellPod("DELETED", index);
    this.#changed.set(index, { version, age: age + 1 });
    this.#tellPod("ADDED", index);
  }

  annotateNode(name: string, annotations: Record<string, string>): Buffer {
    this.#annotations.set(name, annotations);
    this.#changes += 1;
    const node = this.#node(Number(name.slice("node-".length)), PODS + this.#changes);
    const event = Buffer.concat([Buffer.from('{"type":"MODIFIED","object":'), node, LINE_END]);
    for (const listener of this.#watchers.get("nodes")?.keys() ?? []) listener(event);
    return node;
  }

  #items(plural: string, from: number, to: number): Buffer {
    if (to === from) return Buffer.alloc(0);
    if (plural === "nodes") {
      const nodes = Array.from({ length: to - from }, (_, i) => [COMMA, this.#node(from + i, from + i)]);
      return Buffer.concat(nodes.flat()).subarray(COMMA.length);
    }
    const collection = this.#collections[plural];
    if (collection === undefined) return Buffer.alloc(0);
    const { template, numbers } = collection;
    return written(template, from, to, numbers, COMMA).subarray(0, -COMMA.length);
  }

  #podNumbers(index: number): Numbers {
    return { ...podNumbers(index), ...this.#changed.get(index) };
  }

  #node(index: number, version: number): Buffer {
    const name = `node-${String(index).padStart(6, "0")}`;
    return new Template(nodeObject(this.#annotations.get(name) ?? {})).object({
      ...nodeNumbers(index),
      version,
    });
  }

  #tellPod(type: EventType, index: number, isReady = true): void {
    for (const [listener, form] of this.#watchers.get("pods") ?? [])
      listener(this.podEvent(form, type, index, isReady));
  }
}

function written(
  template: Template,
  from: number,
  to: number,
  numbers: (index: number) => Numbers,
  separator: Buffer = Buffer.alloc(0),
): Buffer {
  const items = Buffer.allocUnsafe((to - from) * (template.bytes + separator.length));
  let end = 0;
  for (let index = from; index < to; index += 1) {
    end = template.write(items, end, numbers(index));
    end += separator.copy(items, end);
  }
  return items;
}

function eventLine(type: EventType, object: object): Buffer {
  return Buffer.from(`${JSON.stringify({ type, object })}\n`);
}
