import type { Clock } from "@isochrone/runtime";
import { isDeepStrictEqual } from "node:util";

import { StoreError } from "../errors.ts";
import { cloneJson, mergePatch } from "../json.ts";
import { matchesLabels } from "../labels.ts";
import { KINDS } from "../port.ts";
import type {
  ClusterStore,
  KindRef,
  KubernetesObject,
  ListOptions,
  ObjectList,
  ObjectRef,
  WatchEvent,
} from "../port.ts";
import { isNamespaced, validateObject } from "../validation.ts";
import { History } from "./memory/history.ts";
import type { WatchRequest } from "./memory/history.ts";
import { bound, deletion, isGone, newObject, replacement } from "./memory/lifecycle.ts";
import { OwnerIndex } from "./memory/owner-index.ts";

/** How a memory store is built. */
export interface MemoryStoreOptions {
  readonly clock: Clock;
  /** Changes kept for watchers, over all kinds; one that lags further behind gets `expired`. @default 10000 */
  readonly historyLimit?: number;
  /** How often a watcher hears of the version when other kinds changed and its own did not. @default 10000 */
  readonly bookmarkIntervalMs?: number;
}

const DEFAULTS = { historyLimit: 10_000, bookmarkIntervalMs: 10_000 };

/** An API server's objects in memory: versions, watches, graceful deletion and garbage collection as the real one has them. */
export function createMemoryStore(options: MemoryStoreOptions): ClusterStore {
  const resolved = { ...DEFAULTS, ...options };
  for (const name of ["historyLimit", "bookmarkIntervalMs"] as const) {
    if (Number.isSafeInteger(resolved[name]) && resolved[name] >= 1) continue;
    throw new StoreError(
      "invalid",
      `${name} of the memory store must be a whole number of at least 1, got ${resolved[name]}`,
    );
  }
  return new MemoryStore(resolved);
}

class MemoryStore implements ClusterStore {
  readonly #clock: Clock;
  readonly #history: History;
  /** Current objects by kind, then by key. Stored objects are never changed, only replaced: history shares them. */
  readonly #kinds = new Map<string, Map<string, KubernetesObject>>();
  readonly #owners = new OwnerIndex();
  #lastUid = 0;

  constructor(options: Required<MemoryStoreOptions>) {
    this.#clock = options.clock;
    this.#history = new History(options.clock, options.historyLimit, options.bookmarkIntervalMs);
  }

  async get(ref: ObjectRef): Promise<KubernetesObject | null> {
    const object = this.#find(ref);
    return object ? cloneJson(object) : null;
  }

  async list(kind: KindRef, options: ListOptions = {}): Promise<ObjectList> {
    const items = [...this.#objects(kind).entries()]
      .filter(
        ([, { metadata }]) =>
          !metadata.namespace || !options.namespace || metadata.namespace === options.namespace,
      )
      .filter(([, { metadata }]) => matchesLabels(options.labels ?? {}, metadata.labels))
      // The order of the API server's keys.
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([, object]) => cloneJson(object));
    return { items, resourceVersion: String(this.#history.version) };
  }

  async create(object: KubernetesObject): Promise<KubernetesObject> {
    const draft = this.#accept(object);
    const key = keyOf(draft, draft.metadata);
    if (draft.metadata.resourceVersion) {
      throw new StoreError(
        "invalid",
        `${nameOf(draft)}: metadata.resourceVersion must not be set on a new object`,
      );
    }
    if (this.#objects(draft).has(key))
      throw new StoreError("already_exists", `${nameOf(draft)} already exists`);
    this.#lastUid += 1;
    const uid = `00000000-0000-4000-8000-${this.#lastUid.toString(16).padStart(12, "0")}`;
    return this.#write("added", newObject(draft, uid, this.#clock.now()));
  }

  async update(object: KubernetesObject): Promise<KubernetesObject> {
    const draft = this.#accept(object);
    return this.#replace(this.#require({ ...draft, ...draft.metadata }), draft);
  }

  async patch(ref: ObjectRef, patch: Readonly<Record<string, unknown>>): Promise<KubernetesObject> {
    const stored = this.#require(ref);
    const { resourceVersion: _, ...metadata } = stored.metadata;
    // Without the stored version: only one that the patch brings is compared.
    const draft = this.#accept(mergePatch({ ...stored, metadata }, patch) as KubernetesObject);
    if (
      draft.kind !== stored.kind ||
      draft.apiVersion !== stored.apiVersion ||
      keyOf(draft, draft.metadata) !== keyOf(stored, stored.metadata)
    ) {
      throw new StoreError(
        "invalid",
        `${nameOf(stored)}: a patch must not change type, name or namespace, got ${nameOf(draft)}`,
      );
    }
    return this.#replace(stored, draft);
  }

  async delete(ref: ObjectRef, options: { readonly gracePeriodSeconds?: number } = {}): Promise<void> {
    this.#delete(this.#require(ref), options.gracePeriodSeconds);
  }

  async bind(pod: { readonly namespace: string; readonly name: string }, nodeName: string): Promise<void> {
    const stored = this.#require({ ...KINDS.pod, ...pod });
    if (typeof nodeName !== "string" || nodeName === "") {
      throw new StoreError(
        "invalid",
        `${nameOf(stored)}: the node to bind to must be named, got "${nodeName}"`,
      );
    }
    this.#write("modified", bound(stored, nodeName, this.#clock.now()));
  }

  watch(kind: KindRef, options: WatchRequest): AsyncIterable<WatchEvent> {
    return this.#history.watch(kind, options);
  }

  /** A valid private copy, in its namespace. */
  #accept(object: KubernetesObject): KubernetesObject {
    const draft = cloneJson(object);
    validateObject(draft);
    if (isNamespaced(draft)) draft.metadata.namespace ??= "default";
    return draft;
  }

  #replace(stored: KubernetesObject, draft: KubernetesObject): KubernetesObject {
    const { resourceVersion, uid } = draft.metadata;
    if (resourceVersion && resourceVersion !== stored.metadata.resourceVersion) {
      throw new StoreError(
        "conflict",
        `${nameOf(stored)} has been changed: resourceVersion is ${stored.metadata.resourceVersion}, got ${resourceVersion}`,
      );
    }
    if (uid && uid !== stored.metadata.uid) {
      throw new StoreError(
        "conflict",
        `${nameOf(stored)} is another object: uid is ${stored.metadata.uid}, got ${uid}`,
      );
    }
    const next = replacement(stored, draft);
    // A write without a change is none: no version, no event.
    if (isDeepStrictEqual(stored, next)) return cloneJson(stored);
    if (isGone(next)) return this.#remove(next);
    return this.#write("modified", next);
  }

  #delete(stored: KubernetesObject, gracePeriodSeconds: number | undefined): void {
    const next = deletion(stored, gracePeriodSeconds, this.#clock.now());
    if (next === null) this.#remove(stored);
    else if (next !== stored) this.#write("modified", next);
  }

  #write(type: "added" | "modified", object: KubernetesObject): KubernetesObject {
    const written = this.#stamp(object);
    const key = keyOf(written, written.metadata);
    this.#owners.set(written);
    this.#objects(written).set(key, written);
    this.#history.record(type, written);
    return cloneJson(written);
  }

  /** Removes it, then, as the garbage collector does in the background, what only it owned. */
  #remove(object: KubernetesObject): KubernetesObject {
    const removed = this.#stamp(object);
    this.#objects(removed).delete(keyOf(removed, removed.metadata));
    const orphans = this.#owners.remove(removed);
    this.#history.record("deleted", removed);
    for (const orphan of orphans) {
      const stored = this.#find({ ...orphan, ...orphan.metadata });
      if (stored) this.#delete(stored, undefined);
    }
    return cloneJson(removed);
  }

  #stamp(object: KubernetesObject): KubernetesObject {
    return {
      ...object,
      metadata: { ...object.metadata, resourceVersion: String(this.#history.version + 1) },
    };
  }

  #require(ref: ObjectRef): KubernetesObject {
    const object = this.#find(ref);
    if (object) return object;
    throw new StoreError("not_found", `${nameOf({ ...ref, metadata: ref })} not found`);
  }

  #find(ref: ObjectRef): KubernetesObject | undefined {
    return this.#objects(ref).get(keyOf(ref, ref));
  }

  #objects(kind: KindRef): Map<string, KubernetesObject> {
    const id = `${kind.apiVersion}/${kind.kind}`;
    const known = this.#kinds.get(id);
    if (known) return known;
    const objects = new Map<string, KubernetesObject>();
    this.#kinds.set(id, objects);
    return objects;
  }
}

interface Named {
  readonly namespace?: string | undefined;
  readonly name: string;
}

/** A namespaced object that names none is in "default", as for kubectl. */
function keyOf(kind: KindRef, { namespace, name }: Named): string {
  return isNamespaced(kind) ? `${namespace ?? "default"}/${name}` : name;
}

function nameOf(object: KindRef & { readonly metadata: Named }): string {
  return `${object.kind} ${keyOf(object, object.metadata)}`;
}
