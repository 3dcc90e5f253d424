// Checks the preconditions of zone weights: enough endpoints, zones on nodes, short connections, and a proxy
// that follows hints.
import { DISPATCH_ANNOTATIONS, isStoreError, KINDS, LABELS, readyEndpoints } from "@isochrone/kubernetes";
import { looseFields } from "@isochrone/primitives";
import type { ClusterStore, KubernetesObject } from "@isochrone/kubernetes";
import { fewEndpoints, longConnections } from "../dispatch/notes.ts";
import { NAME_A_CLUSTER, skipped, verdict } from "./finding.ts";
import type { Verdict } from "./finding.ts";

interface DispatchFacts {
  readonly services: readonly {
    readonly service: string;
    readonly lever: string;
    readonly few: readonly string[];
    readonly long: readonly string[];
  }[];
  readonly nodesWithoutZone: readonly string[];
  /** Whether Cilium follows hints; null: no Cilium, or its settings are unreadable. */
  readonly ciliumHeedsHints: boolean | null;
}

const SHOWN = 5;
const CILIUM_CONFIG = { ...KINDS.configMap, namespace: "kube-system", name: "cilium-config" };
const CILIUM_SETTING = "enable-service-topology";

export async function lookAtDispatch(store: ClusterStore): Promise<DispatchFacts> {
  const { items: all } = await store.list(KINDS.service);
  const asking = all.filter(
    ({ metadata }) => metadata.annotations?.[DISPATCH_ANNOTATIONS.dispatch] !== undefined,
  );
  const services = [];
  for (const object of asking) {
    const { namespace = "default", name } = object.metadata;
    const labels = { "kubernetes.io/service-name": name };
    const { items } = await store.list(KINDS.endpointSlice, { namespace, labels });
    services.push({
      service: `${namespace}/${name}`,
      lever: object.metadata.annotations![DISPATCH_ANNOTATIONS.dispatch]!,
      few: fewEndpoints(endpointsByZone(items)),
      long: longConnections(object),
    });
  }
  const { items: nodes } = await store.list(KINDS.node, { metadataOnly: true });
  return {
    services: services.sort((a, b) => (a.service < b.service ? -1 : 1)),
    nodesWithoutZone: nodes
      .filter(({ metadata }) => !metadata.labels?.[LABELS.zone])
      .map(({ metadata }) => metadata.name)
      .sort(),
    ciliumHeedsHints: await ciliumHeedsHints(store),
  };
}

async function ciliumHeedsHints(store: ClusterStore): Promise<boolean | null> {
  try {
    const found = await store.get(CILIUM_CONFIG);
    return found === null ? null : looseFields(found.data)[CILIUM_SETTING] === "true";
  } catch (error) {
    if (isStoreError(error, "forbidden")) return null;
    throw error;
  }
}

function endpointsByZone(slices: readonly KubernetesObject[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const slice of slices)
    for (const { zone } of readyEndpoints(slice))
      if (zone !== null) counts.set(zone, (counts.get(zone) ?? 0) + 1);
  return counts;
}

/** @param facts null: nothing to check, see `why` */
export function judgeDispatch(facts: DispatchFacts | null, why: string): Verdict[] {
  const looked = "Services with isochrone.dev/dispatch, their EndpointSlices, labels of nodes";
  if (facts === null) return [skipped({ check: "services", looked, why, remedy: NAME_A_CLUSTER })];
  const { services, nodesWithoutZone, ciliumHeedsHints: heeds } = facts;
  const few = services.filter((each) => each.few.length > 0);
  const long = services.filter((each) => each.lever === "hints" && each.long.length > 0);
  const found = [
    verdict(few.length === 0, "warning", {
      check: "endpoints",
      looked,
      value:
        few.length === 0
          ? `${services.length} Services ask for zone weights`
          : listed(few.map(({ service, few: texts }) => `${service}: ${texts.join(", ")}`)),
      rule: "each zone with endpoints has at least 3: kube-proxy chooses at random among them",
      remedy: "Run more replicas, spread over zones by topologySpreadConstraints (docs/dispatch.md).",
    }),
    verdict(long.length === 0, "warning", {
      check: "connections",
      looked,
      value:
        long.length === 0
          ? "no port of a long-lived protocol"
          : listed(long.map(({ service, long: texts }) => `${service}: ${texts.join(", ")}`)),
      rule: "clients make new connections often: hints choose an endpoint for each connection",
      remedy:
        "Bound how long connections last (MAX_CONNECTION_AGE of gRPC), or take the lever istio (docs/dispatch.md).",
    }),
    verdict(services.length === 0 || nodesWithoutZone.length === 0, "warning", {
      check: "zones",
      looked,
      value: nodesWithoutZone.length === 0 ? "every node has a zone" : listed(nodesWithoutZone),
      rule: `each node has the label ${LABELS.zone}`,
      remedy: `Label the nodes: \`kubectl label node NODE ${LABELS.zone}=ZONE\`.`,
    }),
  ];
  if (heeds === null) return found;
  const needsHints = services.some(({ lever }) => lever === "hints");
  return [
    ...found,
    verdict(heeds || !needsHints, "warning", {
      check: "Cilium",
      looked: "ConfigMap kube-system/cilium-config",
      value: `${CILIUM_SETTING} is ${heeds ? "true" : "not true"}`,
      rule: "Cilium heeds hints of EndpointSlices where Services ask for the lever hints",
      remedy: "Set `loadBalancer.serviceTopology=true` of Cilium's chart, and restart its agents.",
    }),
  ];
}

function listed(texts: readonly string[]): string {
  const more = texts.length > SHOWN ? `; and ${texts.length - SHOWN} more` : "";
  return `${texts.slice(0, SHOWN).join("; ")}${more}`;
}
