import type { KubernetesObject } from "@isochrone/kubernetes";
import { object, onNodes, required, Some, TOPOLOGY_KEYS, type Json, type Labels } from "./words.ts";

/** Replicas of a few workloads with mutual rules. They tolerate taints, so that there is room. */
export function generateWorkloads(seed: number, name: string): KubernetesObject[] {
  const some = new Some(seed);
  return ["x", "y", "z"].flatMap((app) => {
    const workload = `${name}-${app}`;
    const labels: Labels = { app, tier: "planned" };
    const spec: Json = {
      containers: [
        { name: "main", image: "none", resources: { requests: { cpu: some.of(["50m", "200m"]) } } },
      ],
      tolerations: ["dedicated", "maintenance"].map((key) => ({ key, operator: "Exists" })),
      schedulingGates: [{ name: "isochrone.dev/held" }],
      ...workloadRules(some, app),
    };
    const owner = {
      apiVersion: "apps/v1",
      kind: "ReplicaSet",
      name: workload,
      uid: workload,
      controller: true,
    };
    return Array.from({ length: some.between(2, 4) }, (_, index) => {
      const metadata = { name: `${workload}${index}`, namespace: "front", labels, ownerReferences: [owner] };
      return { ...object("v1", "Pod", metadata), spec };
    });
  });
}

function workloadRules(some: Some, app: string): Json {
  const self = { labelSelector: { matchLabels: { app } } };
  const others = { labelSelector: { matchLabels: { tier: "planned" } } };
  const spread = (topologyKey: string, maxSkew: number, whom: Json): Json => {
    const constraint = { topologyKey, maxSkew, whenUnsatisfiable: "DoNotSchedule", ...whom };
    return { topologySpreadConstraints: [constraint] };
  };
  const [host, zone] = TOPOLOGY_KEYS;
  return some.of<() => Json>([
    () => ({}),
    () => spread(zone, 1, self),
    () => spread(host, some.between(1, 2), others),
    () => ({ ...spread(zone, 1, self), affinity: { nodeAffinity: onSlots(["s0", "s1", "s2"]) } }),
    () => ({ ...spread(zone, 1, self), affinity: { nodeAffinity: onSlots(["s0", "s1"]) } }),
    () => ({ affinity: { podAntiAffinity: required([{ topologyKey: host, ...self }]) } }),
    () => ({ affinity: { podAntiAffinity: required([{ topologyKey: "rack", ...self }]) } }),
    () => ({ affinity: { podAffinity: required([{ topologyKey: zone, ...self }]) } }),
    () => ({
      affinity: { podAffinity: required([{ topologyKey: zone, ...others }]) },
      ...spread(host, 1, self),
    }),
  ])();
}

/** Few enough slots that replicas share nodes. */
function onSlots(values: readonly string[]): Json {
  return { requiredDuringSchedulingIgnoredDuringExecution: onNodes("slot", "In", values)["required"] };
}
