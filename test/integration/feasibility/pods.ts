import type { KubernetesObject } from "@isochrone/kubernetes";
import { NAMESPACES, PRIORITIES, VOLUMES } from "./shared.ts";
import { object, required, TOPOLOGY_KEYS, type Json, type Labels, type Some } from "./words.ts";

/** @param likely probability of each special constraint @param nodes for constraints by node name */
export function generatePod(
  some: Some,
  name: string,
  likely: number,
  nodes: readonly string[] = [],
): KubernetesObject {
  const labels: Labels = { app: some.of(["a", "b", "c", "d"]), tier: some.of(["web", "db"]) };
  if (some.chance(0.7)) labels["pod-template-hash"] = some.of(["h1", "h2"]);
  const spec: Json = { containers: containers(some), terminationGracePeriodSeconds: 3600 };
  const maybe = (field: string, make: (some: Some) => unknown, share = likely): void => {
    if (some.chance(share)) spec[field] = make(some);
  };
  // A pod must not name a port twice.
  const hasPort = (spec["containers"] as Json[]).some(({ ports }) => ports !== undefined);
  maybe("initContainers", (some) =>
    initContainers(some).map((one) => (hasPort ? { ...one, ports: [] } : one)),
  );
  maybe("tolerations", tolerations, 0.5);
  maybe(
    "nodeSelector",
    (some) => some.of<Labels>([{ disk: "ssd" }, { rack: "r1" }, { disk: "hdd", cores: "8" }]),
    likely / 2,
  );
  maybe("topologySpreadConstraints", spreadConstraints);
  maybe("priorityClassName", (some) => some.of(Object.keys(PRIORITIES)), 0.5);
  maybe("runtimeClassName", () => "sandbox", 0.15);
  maybe("volumes", volumes);
  const affinity: Json = {};
  if (some.chance(likely)) affinity["podAffinity"] = required(podTerms(some));
  if (some.chance(likely)) affinity["podAntiAffinity"] = required(podTerms(some));
  if (nodes.length > 0 && some.chance(likely)) affinity["nodeAffinity"] = nodeAffinity(some, nodes);
  if (Object.keys(affinity).length > 0) spec["affinity"] = affinity;
  if (some.chance(0.12)) spec["resources"] = podLevelResources(spec);
  const namespace = some.chance(0.4) ? "front" : some.of(Object.keys(NAMESPACES));
  return { ...object("v1", "Pod", { name, namespace, labels }), spec };
}

/** One pod of five has any constraints. The others have one kind each and mostly fit. */
export function askedPod(
  some: Some,
  name: string,
  index: number,
  nodes: readonly string[],
): KubernetesObject {
  if (index % 5 === 0) return generatePod(some, name, 0.25, nodes);
  const { metadata, spec: { priorityClassName } = {} } = generatePod(some, name, 0);
  const spec: Json = {
    containers: [{ name: "main", image: "none", resources: { requests: { cpu: "10m" } } }],
    ...(priorityClassName === undefined ? {} : { priorityClassName }),
    ...(some.chance(0.4) ? { tolerations: tolerations(some) } : {}),
  };
  if (index % 5 === 1) {
    spec["topologySpreadConstraints"] = spreadConstraints(some);
    if (some.chance(0.3)) spec["nodeSelector"] = { disk: "ssd" };
  } else if (index % 5 === 2) {
    spec["affinity"] = { [some.of(["podAffinity", "podAntiAffinity"])]: required(podTerms(some)) };
  } else if (index % 5 === 3) {
    spec["volumes"] = volumes(some);
    if (some.chance(0.6)) spec["containers"] = [{ name: "main", image: "none", ports: [hostPort(some)] }];
  } else {
    spec["containers"] = plainContainers(some, "c");
    spec["initContainers"] = plainContainers(some, "i").map((one) =>
      some.chance(0.5) ? { ...one, restartPolicy: "Always" } : one,
    );
    if (some.chance(0.6))
      spec["initContainers"] = [
        { name: "sidecar", image: "none", restartPolicy: "Always", ports: [hostPort(some)] },
        ...(spec["initContainers"] as Json[]),
      ];
  }
  return { ...object("v1", "Pod", { ...metadata, namespace: some.chance(0.7) ? "front" : "back" }), spec };
}

function containers(some: Some): Json[] {
  return Array.from({ length: some.between(1, 2) }, (_, index) => ({
    name: `c${index}`,
    image: "none",
    resources: resources(some),
    ...(index === 0 && some.chance(0.4) ? { ports: [hostPort(some)] } : {}),
  }));
}

/** CPU and memory large enough to decide. */
function plainContainers(some: Some, prefix: string): Json[] {
  return Array.from({ length: some.between(1, 3) }, (_, index) => {
    const requests = { cpu: some.of(["300m", "700m", "1.5"]), memory: some.of(["200Mi", "600Mi", "1Gi"]) };
    return { name: `${prefix}${index}`, image: "none", resources: { requests } };
  });
}

function resources(some: Some): Json {
  const requests: Labels = {};
  const limits: Labels = {};
  if (some.chance(0.7)) requests["cpu"] = some.of(["100m", "250m", "333m", "0.7", "1200m", "1e-1", "0.0001"]);
  if (some.chance(0.7)) requests["memory"] = some.of(["64Mi", "100M", "300Mi", "0.7Gi", "1Gi"]);
  if (some.chance(0.2)) requests["ephemeral-storage"] = some.of(["500Mi", "1.5Gi", "4G"]);
  if (some.chance(0.12)) requests["example.com/gpu"] = limits["example.com/gpu"] = "1";
  if (requests["cpu"] !== undefined && some.chance(0.1))
    requests["hugepages-2Mi"] = limits["hugepages-2Mi"] = some.of(["32Mi", "64Mi"]);
  return { requests, limits };
}

function hostPort(some: Some): Json {
  const containerPort = some.of([8080, 8081, 9090]);
  const hostIP = some.of([undefined, undefined, "10.0.0.1", "10.0.0.2", "0.0.0.0"]);
  return {
    containerPort,
    hostPort: containerPort,
    protocol: some.of(["TCP", "TCP", "UDP"]),
    ...(hostIP === undefined ? {} : { hostIP }),
  };
}

function initContainers(some: Some): Json[] {
  return Array.from({ length: some.between(1, 3) }, (_, index) => ({
    name: `i${index}`,
    image: "none",
    resources: resources(some),
    ...(some.chance(0.5) ? { restartPolicy: "Always" } : {}),
    ...(index === 0 && some.chance(0.4) ? { ports: [hostPort(some)] } : {}),
  }));
}

function tolerations(some: Some): Json[] {
  const all: Json[] = [
    { key: "dedicated", operator: "Equal", value: "a", effect: "NoSchedule" },
    { key: "dedicated", operator: "Exists" },
    { key: "dedicated", value: "b" },
    { key: "maintenance", operator: "Exists", effect: "NoExecute" },
    { key: "maintenance", operator: "Exists", effect: "NoSchedule" },
    { key: "node.kubernetes.io/unschedulable", operator: "Exists", effect: "NoSchedule" },
    { operator: "Exists" },
  ];
  return [some.of(all), ...(some.chance(0.5) ? [some.of(all)] : [])];
}

function labelSelector(some: Some): Json {
  return some.of<Json>([
    { matchLabels: { app: some.of(["a", "b"]) } },
    { matchLabels: { tier: "web" } },
    { matchExpressions: [{ key: "app", operator: "In", values: ["a", "c"] }] },
    { matchExpressions: [{ key: "app", operator: "NotIn", values: ["a", "b", "c"] }] },
    { matchExpressions: [{ key: "pod-template-hash", operator: "DoesNotExist" }] },
    { matchLabels: { tier: "db" }, matchExpressions: [{ key: "pod-template-hash", operator: "Exists" }] },
    {},
  ]);
}

function podTerms(some: Some): Json[] {
  return Array.from({ length: some.chance(0.2) ? 2 : 1 }, () => ({
    topologyKey: some.of(TOPOLOGY_KEYS),
    ...(some.chance(0.06) ? {} : { labelSelector: labelSelector(some) }),
    ...some.of<Json>([
      {},
      {},
      { namespaces: [some.of(Object.keys(NAMESPACES))] },
      { namespaceSelector: {} },
      { namespaceSelector: { matchLabels: { team: "a" } } },
      { namespaces: ["back"], namespaceSelector: { matchLabels: { stage: "test" } } },
    ]),
  })).map((term: Json) => withLabelKeys(some, term));
}

/** The API server rejects this together with a selector on the same label. */
function withLabelKeys(some: Some, term: Json): Json {
  if (term["labelSelector"] === undefined || !some.chance(0.2)) return term;
  if (JSON.stringify(term["labelSelector"]).includes("pod-template-hash")) return term;
  return { ...term, [some.of(["matchLabelKeys", "mismatchLabelKeys"])]: ["pod-template-hash"] };
}

function spreadConstraints(some: Some): Json[] {
  const first = some.of(TOPOLOGY_KEYS);
  const others = TOPOLOGY_KEYS.filter((key) => key !== first);
  const keys = some.chance(0.3) ? [first, some.of(others)] : [first];
  return keys.map((topologyKey) => {
    const hard = some.chance(0.9);
    const selector = some.chance(0.06) ? undefined : labelSelector(some);
    const constraint: Json = {
      topologyKey,
      maxSkew: some.of([1, 1, 2, 3]),
      whenUnsatisfiable: hard ? "DoNotSchedule" : "ScheduleAnyway",
      ...(selector === undefined ? {} : { labelSelector: selector }),
      ...(hard && some.chance(0.4) ? { minDomains: some.between(2, 5) } : {}),
      ...(some.chance(0.3) ? { nodeAffinityPolicy: some.of(["Honor", "Ignore"]) } : {}),
      ...(some.chance(0.4) ? { nodeTaintsPolicy: some.of(["Honor", "Ignore"]) } : {}),
    };
    const isTaken = selector === undefined || JSON.stringify(selector).includes("pod-template-hash");
    return isTaken || !some.chance(0.25)
      ? constraint
      : { ...constraint, matchLabelKeys: ["pod-template-hash"] };
  });
}

function nodeAffinity(some: Some, nodes: readonly string[]): Json {
  const expressions: Json[] = [
    { key: "disk", operator: "In", values: ["ssd"] },
    { key: "disk", operator: "NotIn", values: ["ssd"] },
    { key: "rack", operator: "Exists" },
    { key: "rack", operator: "DoesNotExist" },
    { key: "cores", operator: "Gt", values: ["4"] },
    { key: "cores", operator: "Lt", values: ["16"] },
  ];
  const term = (): Json =>
    some.chance(0.3)
      ? {
          matchFields: [
            { key: "metadata.name", operator: some.of(["In", "NotIn"]), values: [some.of(nodes)] },
          ],
        }
      : { matchExpressions: [some.of(expressions), ...(some.chance(0.3) ? [some.of(expressions)] : [])] };
  const nodeSelectorTerms = [term(), ...(some.chance(0.3) ? [term()] : [])];
  return { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } };
}

function volumes(some: Some): Json[] {
  const more = some.chance(0.5) ? [some.of(["exclusive", "csi-1", "csi-2", "csi-3"])] : [];
  const names = [some.of(VOLUMES).name, ...more];
  return [...new Set(names)].map((name) => ({ name, persistentVolumeClaim: { claimName: name } }));
}

/** Must exceed the sum of the containers. */
function podLevelResources(spec: Json): Json {
  spec["containers"] = (spec["containers"] as Json[]).map((container) => ({
    ...container,
    resources: { requests: { cpu: "100m" } },
  }));
  delete spec["initContainers"];
  return { requests: { cpu: "900m", memory: "700Mi" } };
}
