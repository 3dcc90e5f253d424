import { StoreError } from "../../store/errors.ts";
import { looseFields, looseList } from "@isochrone/primitives";
import type { KindRef } from "../../store/port.ts";
import type { ApiClient } from "./client.ts";

interface Resource {
  readonly plural: string;
  readonly isNamespaced: boolean;
}

const KNOWN: Readonly<Record<string, readonly [string, boolean]>> = {
  "v1/ConfigMap": ["configmaps", true],
  "v1/Namespace": ["namespaces", false],
  "v1/Node": ["nodes", false],
  "v1/PersistentVolume": ["persistentvolumes", false],
  "v1/PersistentVolumeClaim": ["persistentvolumeclaims", true],
  "v1/Pod": ["pods", true],
  "v1/Secret": ["secrets", true],
  "v1/Service": ["services", true],
  "v1/ServiceAccount": ["serviceaccounts", true],
  "apps/v1/DaemonSet": ["daemonsets", true],
  "apps/v1/Deployment": ["deployments", true],
  "apps/v1/ReplicaSet": ["replicasets", true],
  "apps/v1/StatefulSet": ["statefulsets", true],
  "autoscaling/v2/HorizontalPodAutoscaler": ["horizontalpodautoscalers", true],
  "batch/v1/CronJob": ["cronjobs", true],
  "batch/v1/Job": ["jobs", true],
  "apiextensions.k8s.io/v1/CustomResourceDefinition": ["customresourcedefinitions", false],
  "authentication.k8s.io/v1/TokenReview": ["tokenreviews", false],
  "authorization.k8s.io/v1/SelfSubjectAccessReview": ["selfsubjectaccessreviews", false],
  "authorization.k8s.io/v1/SubjectAccessReview": ["subjectaccessreviews", false],
  "coordination.k8s.io/v1/Lease": ["leases", true],
  "events.k8s.io/v1/Event": ["events", true],
  "policy/v1/PodDisruptionBudget": ["poddisruptionbudgets", true],
  "storage.k8s.io/v1/CSINode": ["csinodes", false],
  "storage.k8s.io/v1/VolumeAttachment": ["volumeattachments", false],
  "appgroup.diktyo.x-k8s.io/v1alpha1/AppGroup": ["appgroups", true],
  "networking.istio.io/v1/DestinationRule": ["destinationrules", true],
  "networktopology.diktyo.x-k8s.io/v1alpha1/NetworkTopology": ["networktopologies", true],
  "isochrone.dev/v1alpha1/FlowNetwork": ["flownetworks", false],
  "isochrone.dev/v1alpha1/StreamJob": ["streamjobs", true],
};

export function isKnown({ apiVersion, kind }: KindRef): boolean {
  return KNOWN[`${apiVersion}/${kind}`] !== undefined;
}

export class Resources {
  readonly #client: ApiClient;
  /** Keyed by apiVersion, then kind. Missing kinds aren't cached, because their CRD may appear. */
  readonly #discovered = new Map<string, Map<string, Resource>>();

  constructor(client: ApiClient) {
    this.#client = client;
  }

  /** Throws StoreError `not_found` if the server doesn't serve the kind. */
  async of(kind: KindRef): Promise<Resource> {
    const known = KNOWN[`${kind.apiVersion}/${kind.kind}`];
    if (known) return { plural: known[0], isNamespaced: known[1] };
    const cached = this.#discovered.get(kind.apiVersion)?.get(kind.kind);
    if (cached) return cached;
    const kinds = await this.#discover(kind.apiVersion);
    this.#discovered.set(kind.apiVersion, kinds);
    const found = kinds.get(kind.kind);
    if (found) return found;
    throw new StoreError("not_found", `the API server serves no kind ${kind.kind} of ${kind.apiVersion}`);
  }

  async #discover(apiVersion: string): Promise<Map<string, Resource>> {
    const path = rootOf(apiVersion);
    const { resources } = looseFields(
      await this.#client.json({
        verb: "discover",
        kind: apiVersion,
        method: "GET",
        path,
        isRepeatable: true,
      }),
    );
    const kinds = new Map<string, Resource>();
    for (const { kind, name, namespaced } of looseList(resources)) {
      // Names with a slash are subresources; their kinds are those of the written objects.
      if (typeof kind !== "string" || typeof name !== "string" || name.includes("/")) continue;
      kinds.set(kind, { plural: name, isNamespaced: namespaced === true });
    }
    return kinds;
  }
}

export function pathOf(
  kind: KindRef,
  { plural }: Resource,
  { namespace, name, subresource }: { namespace?: string | undefined; name?: string; subresource?: string },
): string {
  const parts = [
    ...(namespace === undefined ? [] : ["namespaces", namespace]),
    plural,
    ...(name === undefined ? [] : [name]),
    ...(subresource === undefined ? [] : [subresource]),
  ];
  return `${rootOf(kind.apiVersion)}/${parts.map(encodeURIComponent).join("/")}`;
}

function rootOf(apiVersion: string): string {
  return apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
}
