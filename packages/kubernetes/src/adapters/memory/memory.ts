import type { Clock } from "@isochrone/runtime";
import { isDeepStrictEqual } from "node:util";
import { detailed } from "../../store/detail.ts";
import { StoreError } from "../../store/errors.ts";
import { matchesFields } from "../../store/fields.ts";
import { cloneJson, mergePatch } from "../../store/json.ts";
import { jsonPatched } from "../../store/json-patch.ts";
import { matchesLabels } from "../../store/labels.ts";
import { KINDS, type ObjectOf } from "../../kinds.ts";
import type {
  ApplyOptions,
  ClusterStore,
  JsonPatchOperation,
  KindRef,
  KubernetesObject,
  ListOptions,
  ObjectList,
  ObjectRef,
  Preconditions,
  UntypedStore,
  WatchEvent,
  WriteOptions,
} from "../../store/port.ts";
import { isNamespaced, validateObject } from "../../store/validation.ts";
import { budgetAfterEviction } from "./eviction.ts";
import { applyFields, managersAfterUpdate, sameManagers } from "./field-managers.ts";
import type { Application, FieldManagers } from "./field-managers.ts";
import { History, type WatchRequest } from "./history.ts";
import { hasStatusSubresource, isReview } from "./kinds.ts";
import { bound, deletion, isGone, newObject, replacement, scaled, unstamped } from "./lifecycle.ts";
import { OwnerIndex } from "./owner-index.ts";

interface MemoryStoreOptions {
  readonly clock: Clock;
  /** Changes kept for watchers; a watcher further behind gets `expired`. @default 10000 */
  readonly historyLimit?: number;
  readonly bookmarkIntervalMs?: number;
  /** Field manager of calls without their own. @default isochrone */
  readonly fieldManager?: string;
  /** Returns the status of TokenReviews and SubjectAccessReviews. @default denies all */
  readonly review?: (review: KubernetesObject) => Record<string, unknown>;
}

const DRY_RUN_UID = "00000000-0000-4000-8000-000000000000";

const DEFAULTS = {
  historyLimit: 10_000,
  bookmarkIntervalMs: 10_000,
  fieldManager: "isochrone",
  review: ({ kind }: KubernetesObject): Record<string, unknown> =>
    kind === "TokenReview" ? { authenticated: false } : { allowed: false },
};

/**
 * An in-memory API server: versions, watches, field managers, graceful deletion and garbage collection.
 * Deviation: a new object keeps the status it is created with.
 */
export function createMemoryStore(options: MemoryStoreOptions): ClusterStore {
  const resolved = { ...DEFAULTS, ...options };
  for (const name of ["historyLimit", "bookmarkIntervalMs"] as const) {
    if (Number.isSafeInteger(resolved[name]) && resolved[name] >= 1) continue;
    throw new StoreError(
      "invalid",
      `${name} of the memory store must be a whole number of at least 1, got ${resolved[name]}`,
    );
  }
  return new MemoryStore(resolved) as ClusterStore;
}

class MemoryStore implements UntypedStore {
  readonly #options: Required<MemoryStoreOptions>;
  readonly #clock: Clock;
  readonly #history: History;
  /** Keyed by kind, then key. Stored objects are immutable, because the history shares them. */
  readonly #kinds = new Map<string, Map<string, KubernetesObject>>();
  readonly #owners = new OwnerIndex();
  readonly #managers = new Map<string, FieldManagers>();
  #lastUid = 0;

  constructor(options: Required<MemoryStoreOptions>) {
    this.#options = options;
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
      .filter(([, object]) => matchesFields(options.fields ?? {}, object))
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([, object]) => detailed(cloneJson(object), options));
    return { items, resourceVersion: String(this.#history.version) };
  }

  async create(object: KubernetesObject): Promise<KubernetesObject> {
    if (isReview(object)) return { ...cloneJson(object), status: cloneJson(this.#options.review(object)) };
    const draft = this.#accept(object);
    if (draft.metadata.resourceVersion) {
      throw new StoreError(
        "invalid",
        `${nameOf(draft)}: metadata.resourceVersion must not be set on a new object`,
      );
    }
    if (this.#find({ ...draft, ...draft.metadata }))
      throw new StoreError("already_exists", `${nameOf(draft)} already exists`);
    return this.#add(draft, { sole: this.#options.fieldManager });
  }

  async update(object: KubernetesObject, options: WriteOptions = {}): Promise<KubernetesObject> {
    const draft = this.#accept(object);
    return this.#replace(this.#require({ ...draft, ...draft.metadata }), draft, options);
  }

  async patch(
    ref: ObjectRef,
    patch: Readonly<Record<string, unknown>>,
    options: WriteOptions = {},
  ): Promise<KubernetesObject> {
    const stored = this.#require(ref);
    const { resourceVersion: _, ...metadata } = stored.metadata;
    // Compares only a version in the patch itself.
    const draft = this.#accept(mergePatch({ ...stored, metadata }, patch) as KubernetesObject);
    return this.#replace(stored, draft, options);
  }

  async jsonPatch(
    ref: ObjectRef,
    operations: readonly JsonPatchOperation[],
    options: WriteOptions = {},
  ): Promise<KubernetesObject> {
    const stored = this.#require(ref);
    return this.#replace(stored, this.#accept(jsonPatched(nameOf(stored), stored, operations)), options);
  }

  async apply(object: KubernetesObject, options: ApplyOptions): Promise<KubernetesObject> {
    const draft = this.#accept(object);
    const stored = this.#find({ ...draft, ...draft.metadata });
    const config = appliedPart(draft, options);
    if (stored) return this.#applyTo(stored, draft, config, options);
    // As in the API server, a uid refers to an existing object.
    if (draft.metadata.uid)
      throw new StoreError("conflict", `${nameOf(draft)} is gone: its uid was ${draft.metadata.uid}`);
    if (options.subresource) return this.#require({ ...draft, ...draft.metadata });
    const created = applyFields(null, null, config, applicationOf(options));
    if (options.dryRun) return newObject(created.object, DRY_RUN_UID, this.#clock.now());
    return this.#add(created.object, created.managers);
  }

  async delete(
    ref: ObjectRef,
    options: { readonly gracePeriodSeconds?: number; readonly preconditions?: Preconditions } = {},
  ): Promise<void> {
    const stored = this.#require(ref);
    checkPreconditions(stored, options.preconditions ?? {});
    this.#delete(stored, options.gracePeriodSeconds);
  }

  async evict(
    ref: { readonly namespace: string; readonly name: string },
    options: { readonly preconditions?: Preconditions; readonly gracePeriodSeconds?: number } = {},
  ): Promise<void> {
    const pod = this.#require({ ...KINDS.pod, ...ref });
    checkPreconditions(pod, options.preconditions ?? {});
    const budgets = [...this.#objects(KINDS.podDisruptionBudget).values()].filter(
      ({ metadata }) => metadata.namespace === ref.namespace,
    );
    const budget = budgetAfterEviction(pod, budgets, this.#clock.now());
    if (budget) this.#write("modified", budget);
    this.#delete(pod, options.gracePeriodSeconds);
  }

  async scale(...[ref, { from, to }, options = {}]: Parameters<ClusterStore["scale"]>): Promise<void> {
    const stored = this.#require(ref);
    this.#replace(stored, scaled(cloneJson(stored), from, to), options);
  }

  async bind(pod: { readonly namespace: string; readonly name: string }, nodeName: string): Promise<void> {
    const stored = this.#require({ ...KINDS.pod, ...pod });
    if (typeof nodeName !== "string" || nodeName === "") {
      throw new StoreError(
        "invalid",
        `${nameOf(stored)}: the node to bind to must be named, got "${nodeName}"`,
      );
    }
    const next = bound(stored, nodeName, this.#clock.now());
    this.#write("modified", next, this.#managersAfter(stored, next, {}));
  }

  watch(kind: KindRef, options: WatchRequest): AsyncIterable<WatchEvent> {
    return this.#history.watch(kind, options);
  }

  #accept(object: KubernetesObject): KubernetesObject {
    const draft = cloneJson(object);
    validateObject(draft);
    if (isNamespaced(draft)) draft.metadata.namespace ??= "default";
    return draft;
  }

  #applyTo(
    stored: KubernetesObject,
    draft: KubernetesObject,
    config: KubernetesObject,
    options: ApplyOptions,
  ): KubernetesObject {
    checkPreconditions(stored, draft.metadata);
    const managers = this.#managersOf(stored);
    const applied = applyFields(stored, managers, config, applicationOf(options));
    const next = replacement(stored, applied.object);
    if (isDeepStrictEqual(stored, next) && sameManagers(managers, applied.managers)) return cloneJson(stored);
    if (options.dryRun) return cloneJson(next);
    if (isGone(next)) return this.#remove(next);
    return this.#write("modified", next, applied.managers);
  }

  #add(object: KubernetesObject, managers: FieldManagers): KubernetesObject {
    this.#lastUid += 1;
    const uid = `00000000-0000-4000-8000-${this.#lastUid.toString(16).padStart(12, "0")}`;
    return this.#write("added", newObject(object, uid, this.#clock.now()), managers);
  }

  #replace(stored: KubernetesObject, draft: KubernetesObject, options: WriteOptions): KubernetesObject {
    checkSameObject(stored, draft);
    checkPreconditions(stored, draft.metadata);
    const next = replacement(stored, writtenPart(stored, draft, options));
    // A write without changes makes no version and no event.
    if (isDeepStrictEqual(stored, next)) return cloneJson(stored);
    if (isGone(next)) return this.#remove(next);
    return this.#write("modified", next, this.#managersAfter(stored, next, options));
  }

  #managersAfter(stored: KubernetesObject, next: KubernetesObject, options: WriteOptions): FieldManagers {
    const manager = options.fieldManager ?? this.#options.fieldManager;
    return managersAfterUpdate(this.#managersOf(stored), stored, next, manager);
  }

  #managersOf(stored: KubernetesObject): FieldManagers {
    return this.#managers.get(stored.metadata.uid ?? "") ?? { sole: this.#options.fieldManager };
  }

  #delete(stored: KubernetesObject, gracePeriodSeconds: number | undefined): void {
    const next = deletion(stored, gracePeriodSeconds, this.#clock.now());
    if (next === null) this.#remove(stored);
    else if (next !== stored) this.#write("modified", next);
  }

  #write(type: "added" | "modified", object: KubernetesObject, managers?: FieldManagers): KubernetesObject {
    const written = this.#stamp(object);
    const key = keyOf(written, written.metadata);
    if (managers) this.#managers.set(written.metadata.uid ?? "", managers);
    this.#owners.set(written);
    this.#objects(written).set(key, written);
    this.#history.record(type, written);
    return cloneJson(written);
  }

  /** Removes an object, and dependents without other owners, as the garbage collector does. */
  #remove(object: KubernetesObject): KubernetesObject {
    const removed = this.#stamp(object);
    this.#objects(removed).delete(keyOf(removed, removed.metadata));
    this.#managers.delete(removed.metadata.uid ?? "");
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

  #require<R extends ObjectRef>(ref: R): ObjectOf<R> {
    const object = this.#find(ref);
    if (object) return object;
    throw new StoreError("not_found", `${nameOf({ ...ref, metadata: ref })} not found`);
  }

  #find<R extends ObjectRef>(ref: R): ObjectOf<R> | undefined {
    return this.#objects(ref).get(keyOf(ref, ref));
  }

  #objects<K extends KindRef>(kind: K): Map<string, ObjectOf<K>> {
    const id = `${kind.apiVersion}/${kind.kind}`;
    const objects = this.#kinds.get(id) ?? new Map<string, KubernetesObject>();
    this.#kinds.set(id, objects);
    return objects as Map<string, ObjectOf<K>>;
  }
}

function applicationOf({ fieldManager, force = false, subresource }: ApplyOptions): Application {
  return { manager: fieldManager, subresource: subresource ?? "", force };
}

/** Object to store: changes only the status, or everything but a status with a subresource. */
function writtenPart(
  stored: KubernetesObject,
  draft: KubernetesObject,
  { subresource }: WriteOptions,
): KubernetesObject {
  if (subresource === "status") return withStatus(stored, requireStatus(draft).status);
  return hasStatusSubresource(draft) ? withStatus(draft, stored.status) : draft;
}

function appliedPart(draft: KubernetesObject, { subresource }: WriteOptions): KubernetesObject {
  const { apiVersion, kind, metadata, status, ...rest } = unstamped(draft);
  const { name, namespace } = metadata;
  if (subresource === "status") {
    const bare = { name, ...(namespace === undefined ? {} : { namespace }) };
    return withStatus({ apiVersion, kind, metadata: bare }, requireStatus(draft).status);
  }
  const object = { apiVersion, kind, metadata, ...rest };
  return hasStatusSubresource(draft) ? object : withStatus(object, status);
}

function withStatus(object: KubernetesObject, status: KubernetesObject["status"]): KubernetesObject {
  const { status: _, ...rest } = object;
  return status === undefined ? rest : { ...rest, status };
}

function requireStatus(object: KubernetesObject): KubernetesObject {
  if (hasStatusSubresource(object)) return object;
  throw new StoreError("not_found", `${nameOf(object)}: its kind has no status subresource`);
}

function checkSameObject(stored: KubernetesObject, draft: KubernetesObject): void {
  const same =
    draft.kind === stored.kind &&
    draft.apiVersion === stored.apiVersion &&
    keyOf(draft, draft.metadata) === keyOf(stored, stored.metadata);
  if (same) return;
  throw new StoreError(
    "invalid",
    `${nameOf(stored)}: a patch must not change type, name or namespace, got ${nameOf(draft)}`,
  );
}

function checkPreconditions(stored: KubernetesObject, { resourceVersion, uid }: Preconditions): void {
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
}

interface Named {
  readonly namespace?: string | undefined;
  readonly name: string;
}

function keyOf(kind: KindRef, { namespace, name }: Named): string {
  return isNamespaced(kind) ? `${namespace ?? "default"}/${name}` : name;
}

function nameOf(object: KindRef & { readonly metadata: Named }): string {
  return `${object.kind} ${keyOf(object, object.metadata)}`;
}
