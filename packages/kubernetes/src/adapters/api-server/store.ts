import { isObject, isPlainObject } from "../../store/json.ts";
import { isStoreError, StoreError } from "../../store/errors.ts";
import { detailed } from "../../store/detail.ts";
import { jsonPatched } from "../../store/json-patch.ts";
import { KINDS } from "../../kinds.ts";
import type {
  ApplyOptions,
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
import { validateObject } from "../../store/validation.ts";
import { actOf } from "./client.ts";
import type { ApiRequest } from "./client.ts";
import { listPages, type ListSource } from "./reading.ts";
import { pathOf } from "./resources.ts";
import type { Resources } from "./resources.ts";
import { watchChanges } from "./watching.ts";
import type { WatchDependencies, WatchRequest } from "./watching.ts";

export interface ApiServerStoreParts extends WatchDependencies, ListSource {
  readonly resources: Resources;
  readonly fieldManager: string;
}

/** The API server's whole message for a JSON patch that failed. */
const UNEXPLAINED = "the server rejected our request due to an error in our request";
const MAX_UPDATE_RACES = 5;
const NO_GET: ReadonlySet<string> = new Set([
  "TokenReview",
  "SelfSubjectAccessReview",
  "SubjectAccessReview",
]);

type NamedPod = { readonly namespace: string; readonly name: string };

export class ApiServerStore implements UntypedStore {
  readonly #parts: ApiServerStoreParts;

  constructor(parts: ApiServerStoreParts) {
    this.#parts = parts;
  }

  async get(ref: ObjectRef): Promise<KubernetesObject | null> {
    try {
      return await this.#object(ref, { verb: "get", method: "GET", isRepeatable: true });
    } catch (error) {
      if (isStoreError(error, "not_found")) return null;
      throw error;
    }
  }

  async list(kind: KindRef, options: ListOptions = {}): Promise<ObjectList> {
    return await listPages(await this.#collection(kind, options.namespace), kind, options, this.#parts);
  }

  async create(object: KubernetesObject): Promise<KubernetesObject> {
    const isReview = NO_GET.has(object.kind);
    if (!isReview) this.#check(object);
    const resource = await this.#parts.resources.of(object);
    const namespace = resource.isNamespaced ? (object.metadata.namespace ?? "default") : undefined;
    return await this.#written(object, {
      verb: "create",
      kind: object.kind,
      name: nameOf({ namespace, name: object.metadata.name }),
      method: "POST",
      path: pathOf(object, resource, { namespace }),
      query: this.#by({}),
      body: object,
      isRepeatable: isReview,
    });
  }

  async update(object: KubernetesObject, options: WriteOptions = {}): Promise<KubernetesObject> {
    this.#check(object);
    for (let race = 1, body = object; ; race += 1) {
      try {
        return await this.#write(body, options, { verb: "update", method: "PUT", body });
      } catch (error) {
        // Some kinds require a version for updates: use the current one, as if the caller had just read it.
        const wantsVersion =
          isStoreError(error, "invalid") && /metadata\.resourceVersion/.test(error.message);
        const lostRace = isStoreError(error, "conflict") && race > 1;
        if (object.metadata.resourceVersion || race > MAX_UPDATE_RACES || !(wantsVersion || lostRace))
          throw error;
        const stored = await this.get(refOf(object));
        if (!stored) throw new StoreError("not_found", `${error.message} (it is gone)`);
        const { resourceVersion = "" } = stored.metadata;
        body = { ...object, metadata: { ...object.metadata, resourceVersion } };
      }
    }
  }

  async patch(
    ref: ObjectRef,
    patch: Readonly<Record<string, unknown>>,
    options: WriteOptions = {},
  ): Promise<KubernetesObject> {
    return await this.#write(refObject(ref), options, {
      verb: "patch",
      method: "PATCH",
      body: options.subresource ? statusPatch(patch) : patch,
      contentType: "application/merge-patch+json",
    });
  }

  async jsonPatch(
    ref: ObjectRef,
    operations: readonly JsonPatchOperation[],
    options: WriteOptions = {},
  ): Promise<KubernetesObject> {
    try {
      return await this.#write(refObject(ref), options, {
        verb: "patch",
        method: "PATCH",
        body: operations,
        contentType: "application/json-patch+json",
      });
    } catch (error) {
      const isUnclear = isStoreError(error, "invalid") && error.message.includes(UNEXPLAINED);
      if (isUnclear && options.isUnexplained !== true) await this.#explainRefusal(ref, operations, error);
      throw error;
    }
  }

  async apply(object: KubernetesObject, options: ApplyOptions): Promise<KubernetesObject> {
    this.#check(object);
    return await this.#write(object, options, {
      verb: "apply",
      method: "PATCH",
      query: { force: String(options.force ?? false), ...(options.dryRun ? { dryRun: "All" } : {}) },
      body: appliedPart(object, options),
      contentType: "application/apply-patch+yaml",
      isRepeatable: true,
    });
  }

  async delete(
    ref: ObjectRef,
    options: { readonly gracePeriodSeconds?: number; readonly preconditions?: Preconditions } = {},
  ): Promise<void> {
    const body = { apiVersion: "v1", kind: "DeleteOptions", propagationPolicy: "Background", ...options };
    await this.#object(ref, { verb: "delete", method: "DELETE", body });
  }

  async evict(
    pod: NamedPod,
    options: { readonly preconditions?: Preconditions; readonly gracePeriodSeconds?: number } = {},
  ): Promise<void> {
    const body = {
      apiVersion: "policy/v1",
      kind: "Eviction",
      metadata: { name: pod.name, namespace: pod.namespace },
      deleteOptions: { apiVersion: "v1", kind: "DeleteOptions", ...options },
    };
    const request = { verb: "evict", method: "POST", body, takesRefusal: true } as const;
    await this.#object({ ...KINDS.pod, ...pod }, request, "eviction");
  }

  async scale(
    ref: ObjectRef,
    { from, to }: { readonly from: number; readonly to: number },
    options: Pick<WriteOptions, "fieldManager"> = {},
  ): Promise<void> {
    const path = "/spec/replicas";
    const request = {
      verb: "scale",
      method: "PATCH",
      query: this.#by(options),
      body: [
        { op: "test", path, value: from },
        { op: "replace", path, value: to },
      ],
      contentType: "application/json-patch+json",
    } as const;
    try {
      await this.#object(ref, request, "scale");
    } catch (error) {
      if (!isStoreError(error, "invalid") || !error.message.includes(UNEXPLAINED)) throw error;
      throw new StoreError("conflict", `${error.message} (it hasn't ${from} replicas)`, { cause: error });
    }
  }

  async bind(pod: NamedPod, nodeName: string): Promise<void> {
    if (typeof nodeName !== "string" || nodeName === "") {
      throw new StoreError(
        "invalid",
        `Pod ${nameOf(pod)}: the node to bind to must be named, got "${nodeName}"`,
      );
    }
    const body = {
      apiVersion: "v1",
      kind: "Binding",
      metadata: { name: pod.name, namespace: pod.namespace },
      target: { ...KINDS.node, name: nodeName },
    };
    await this.#object({ ...KINDS.pod, ...pod }, { verb: "bind", method: "POST", body }, "binding");
  }

  watch(kind: KindRef, options: WatchRequest): AsyncGenerator<WatchEvent> {
    return watchChanges(() => this.#collection(kind, options.namespace), kind, options, this.#parts);
  }

  /**
   * The server doesn't say whether a test failed or a path is missing; the current object does. Throws the
   * clearer error.
   */
  async #explainRefusal(
    ref: ObjectRef,
    operations: readonly JsonPatchOperation[],
    cause: StoreError,
  ): Promise<void> {
    const stored = await this.get(ref);
    if (!stored) throw new StoreError("not_found", `${cause.message} (it is gone)`);
    jsonPatched(`${ref.kind} ${nameOf(ref)}`, stored, operations);
    throw new StoreError("conflict", `${cause.message} (it has been changed since)`, { cause });
  }

  async #collection(kind: KindRef, namespace: string | undefined): Promise<string> {
    const resource = await this.#parts.resources.of(kind);
    return pathOf(kind, resource, { namespace: resource.isNamespaced ? namespace : undefined });
  }

  async #write(
    object: KubernetesObject,
    options: WriteOptions,
    request: Omit<ApiRequest, "kind" | "path" | "name">,
  ): Promise<KubernetesObject> {
    const query = { ...this.#by(options), ...request.query };
    return await this.#object(refOf(object), { ...request, query }, options.subresource);
  }

  async #object(
    ref: ObjectRef,
    request: Omit<ApiRequest, "kind" | "path" | "name">,
    subresource?: string,
  ): Promise<KubernetesObject> {
    const resource = await this.#parts.resources.of(ref);
    const namespace = resource.isNamespaced ? (ref.namespace ?? "default") : undefined;
    const { name, kind } = ref;
    if (name === "")
      throw new StoreError("invalid", `${actOf({ verb: request.verb, kind })}: the name is empty`);
    const path = pathOf(ref, resource, {
      namespace,
      name,
      ...(subresource === undefined ? {} : { subresource }),
    });
    return await this.#written(ref, { ...request, kind, name: nameOf({ namespace, name }), path });
  }

  async #written(ref: KindRef, request: ApiRequest): Promise<KubernetesObject> {
    const answer = await this.#parts.client.json(request);
    if (!isObject(answer))
      throw new StoreError("unavailable", `${actOf(request)}: the API server answered no object`);
    return detailed({ ...answer, apiVersion: ref.apiVersion, kind: ref.kind }, {});
  }

  #by({ fieldManager = this.#parts.fieldManager }: WriteOptions): Record<string, string> {
    return { fieldManager };
  }

  /** Validates locally, so that all stores give equal messages. RBAC names have other rules. */
  #check(object: KubernetesObject): void {
    if (!object.apiVersion?.startsWith("rbac.authorization.k8s.io/")) validateObject(object);
  }
}

function statusPatch(patch: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { status, metadata } = patch;
  const { resourceVersion, uid } = isPlainObject(metadata) ? metadata : {};
  const expected = Object.entries({ resourceVersion, uid }).filter(([, value]) => value !== undefined);
  return {
    ...(expected.length > 0 ? { metadata: Object.fromEntries(expected) } : {}),
    ...(status === undefined ? {} : { status }),
  };
}

/** Part of an object to apply: the server rejects its own fields, and a status. */
function appliedPart(object: KubernetesObject, { subresource }: WriteOptions): Record<string, unknown> {
  const { apiVersion, kind, metadata, status, ...rest } = object;
  const { name, namespace, uid, resourceVersion } = metadata;
  const identity = Object.fromEntries(
    Object.entries({ name, namespace, uid, resourceVersion }).filter(([, value]) => value !== undefined),
  );
  if (subresource === "status") return { apiVersion, kind, metadata: identity, status };
  const { labels, annotations, ownerReferences, finalizers } = metadata;
  const owned = Object.fromEntries(
    Object.entries({ labels, annotations, ownerReferences, finalizers }).filter(
      ([, value]) => value !== undefined,
    ),
  );
  return {
    apiVersion,
    kind,
    metadata: { ...identity, ...owned },
    ...rest,
    ...(status === undefined ? {} : { status }),
  };
}

function refObject({ apiVersion, kind, name, namespace }: ObjectRef): KubernetesObject {
  return { apiVersion, kind, metadata: { name, ...(namespace === undefined ? {} : { namespace }) } };
}

function refOf({ apiVersion, kind, metadata: { name, namespace } }: KubernetesObject): ObjectRef {
  return { apiVersion, kind, name, ...(namespace === undefined ? {} : { namespace }) };
}

function nameOf({
  namespace,
  name,
}: {
  readonly namespace?: string | undefined;
  readonly name: string;
}): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}
