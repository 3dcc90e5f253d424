// Applies the API server's defaults (pkg/apis/core/v1/defaults.go) and default admission plugins, as far as
// scheduling depends on them.
import { entriesOf, isList, isRecord, looseFields, type LooseFields } from "@isochrone/primitives";

type Json = LooseFields;
type Fields<K extends string> = Record<K, unknown>;

const POD_TEMPLATES: Readonly<Record<string, readonly string[]>> = {
  Pod: [],
  Deployment: ["spec", "template"],
  StatefulSet: ["spec", "template"],
  DaemonSet: ["spec", "template"],
  ReplicaSet: ["spec", "template"],
  ReplicationController: ["spec", "template"],
  Job: ["spec", "template"],
  CronJob: ["spec", "jobTemplate", "spec", "template"],
};

/** Adds defaults to an object or its pod template. Complete objects stay equal. */
export function completedObject(kind: string, json: Json): Json {
  if (Object.hasOwn(POD_TEMPLATES, kind)) return changedAt(json, POD_TEMPLATES[kind]!, completedPod);
  if (kind === "Node") return changedAt(json, ["status"], completedNodeStatus);
  if (kind === "Namespace") return changedAt(json, ["metadata"], completedNamespace);
  return json;
}

/** Changes a copy of the object at the path. Returns the object itself if there is no such path. */
function changedAt(json: Json, path: readonly string[], change: (json: Json) => Json): Json {
  const [step, ...rest] = path;
  if (step === undefined) return change(json);
  const inner = json[step];
  return isRecord(inner) ? { ...json, [step]: changedAt(inner, rest, change) } : json;
}

function completedNodeStatus(status: Json): Json {
  const { allocatable, capacity } = looseFields<Fields<"allocatable" | "capacity">>(status);
  return allocatable === undefined && capacity !== undefined ? { ...status, allocatable: capacity } : status;
}

/** Label set by the API server; affinity selects namespaces by it. */
function completedNamespace(metadata: Json): Json {
  const { labels, name } = looseFields<Fields<"labels" | "name">>(metadata);
  return { ...metadata, labels: { ...looseFields(labels), "kubernetes.io/metadata.name": name } };
}

function completedPod(pod: Json): Json {
  const { spec, metadata } = looseFields<Fields<"spec" | "metadata">>(pod);
  if (!isRecord(spec)) return pod;
  const labels = looseFields(looseFields<Fields<"labels">>(metadata).labels);
  const fields = looseFields<Fields<PodField>>(spec);
  const { resources, affinity, tolerations, restartPolicy = "Always" } = fields;
  const onHost = fields.hostNetwork === true;
  const containers = mapped(fields.containers, (one) => completedContainer(one, onHost));
  const initContainers = mapped(fields.initContainers, (one) => completedContainer(one, onHost));
  const all = [containers, initContainers].flatMap((list) => (isList(list) ? list : []));
  return {
    ...pod,
    spec: {
      ...spec,
      restartPolicy,
      tolerations: completedTolerations(tolerations),
      ...(containers === undefined ? {} : { containers }),
      ...(initContainers === undefined ? {} : { initContainers }),
      ...(isRecord(resources) ? { resources: completedPodResources(resources, all) } : {}),
      ...(isRecord(affinity) ? { affinity: completedAffinity(affinity, labels) } : {}),
    },
  };
}

type PodField =
  | "affinity"
  | "containers"
  | "hostNetwork"
  | "initContainers"
  | "resources"
  | "restartPolicy"
  | "tolerations";

function mapped(list: unknown, change: (entry: Json) => Json): unknown {
  return isList(list) ? list.map((entry) => (isRecord(entry) ? change(entry) : entry)) : list;
}

/** Missing requests default to limits. With host networking, container ports are host ports. */
function completedContainer(container: Json, onHost: boolean): Json {
  const { resources, ports: given } = looseFields<Fields<"ports" | "resources">>(container);
  const { limits, requests } = looseFields<Fields<"limits" | "requests">>(resources);
  const ports = mapped(given, (port) => completedPort(port, onHost));
  return {
    ...container,
    ...(ports === undefined ? {} : { ports }),
    ...(isRecord(limits)
      ? { resources: { ...looseFields(resources), requests: { ...limits, ...looseFields(requests) } } }
      : {}),
  };
}

function completedPort(port: Json, onHost: boolean): Json {
  const { protocol, hostPort, containerPort } =
    looseFields<Fields<"containerPort" | "hostPort" | "protocol">>(port);
  return {
    ...port,
    protocol: protocol || "TCP",
    ...(onHost ? { hostPort: hostPort || containerPort } : {}),
  };
}

/** Pod limits become requests only for resources that no container requests. */
function completedPodResources(resources: Json, containers: readonly unknown[]): Json {
  const { limits, requests } = looseFields<Record<"limits" | "requests", unknown>>(resources);
  const requested = new Set(
    containers.flatMap((container) => Object.keys(looseFields(resourcesOf(container).requests))),
  );
  const missing = Object.entries(looseFields(limits)).filter(([name]) => !requested.has(name));
  if (missing.length === 0) return resources;
  return { ...resources, requests: { ...Object.fromEntries(missing), ...looseFields(requests) } };
}

function resourcesOf(container: unknown): { readonly requests?: unknown } {
  return looseFields<{ requests: unknown }>(looseFields<{ resources: unknown }>(container).resources);
}

/** DefaultTolerationSeconds: each pod tolerates these taints for a while. */
const TOLERATED = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"];
const TOLERATED_SECONDS = 300;

function completedTolerations(tolerations: unknown): unknown {
  if (tolerations !== undefined && tolerations !== null && !isList(tolerations)) return tolerations;
  const own = tolerations ?? [];
  const isTolerated = (taint: string): boolean =>
    own.some((toleration) => {
      const { key, effect } = looseFields<Record<"key" | "effect", unknown>>(toleration);
      return (key === taint || !key) && (effect === "NoExecute" || !effect);
    });
  const added = TOLERATED.filter((taint) => !isTolerated(taint)).map((key) => ({
    key,
    operator: "Exists",
    effect: "NoExecute",
    tolerationSeconds: TOLERATED_SECONDS,
  }));
  return [...own, ...added];
}

const LABEL_KEYS = { matchLabelKeys: "In", mismatchLabelKeys: "NotIn" } as const;

/** Label keys of terms become requirements with the pod's values; missing keys are ignored. */
function completedAffinity(affinity: Json, labels: Json): Json {
  const complete = (term: Json): Json => completedTerm(term, labels);
  const { podAffinity, podAntiAffinity } = looseFields<Fields<"podAffinity" | "podAntiAffinity">>(affinity);
  return {
    ...affinity,
    ...(isRecord(podAffinity) ? { podAffinity: completedTerms(podAffinity, complete) } : {}),
    ...(isRecord(podAntiAffinity) ? { podAntiAffinity: completedTerms(podAntiAffinity, complete) } : {}),
  };
}

const REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution";

function completedTerms(kind: Json, complete: (term: Json) => Json): Json {
  const { [REQUIRED]: required, [PREFERRED]: preferred } =
    looseFields<Fields<typeof REQUIRED | typeof PREFERRED>>(kind);
  const weighted = (entry: Json): Json => changedAt(entry, ["podAffinityTerm"], complete);
  return {
    ...kind,
    ...(required === undefined ? {} : { [REQUIRED]: mapped(required, complete) }),
    ...(preferred === undefined ? {} : { [PREFERRED]: mapped(preferred, weighted) }),
  };
}

function completedTerm(term: Json, labels: Json): Json {
  const { labelSelector, ...keys } =
    looseFields<Fields<"labelSelector" | "matchLabelKeys" | "mismatchLabelKeys">>(term);
  if (!isRecord(labelSelector)) return term;
  const { matchExpressions } = looseFields<Fields<"matchExpressions">>(labelSelector);
  const present = isList(matchExpressions) ? matchExpressions : [];
  const isThere = (key: unknown, operator: string): boolean =>
    present.some((expression) => {
      const known = looseFields<Fields<"key" | "operator">>(expression);
      return known.key === key && known.operator === operator;
    });
  const added = entriesOf(LABEL_KEYS).flatMap(([field, operator]) => {
    const named = keys[field];
    return (isList(named) ? named : [])
      .filter((key) => typeof key === "string" && Object.hasOwn(labels, key) && !isThere(key, operator))
      .map((key) => ({ key, operator, values: [labels[String(key)]] }));
  });
  if (added.length === 0) return term;
  return { ...term, labelSelector: { ...labelSelector, matchExpressions: [...present, ...added] } };
}
