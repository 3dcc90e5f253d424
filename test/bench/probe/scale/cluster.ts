import type { KubernetesObject } from "@isochrone/kubernetes";

export interface Seat {
  readonly node: string;
  readonly zone: string;
  readonly region: string;
  readonly address: string;
}

/** Nodes per region out of ten: clusters have a main one. */
const REGION_SHARES = [5, 3, 2];
const ZONES_PER_REGION = 3;
/** Last bytes of addresses, without 0 and 255. */
const HOSTS = 250;

/** Nodes of 3 regions with 3 zones each. At most 15,000: one address of 127.64.0.0/18 each. */
export function seatsOf(count: number): Seat[] {
  return Array.from({ length: count }, (_, index) => {
    const region = `region-${regionOf(index % 10)}`;
    return {
      node: `node-${String(index).padStart(5, "0")}`,
      region,
      zone: `${region}-${"abc"[Math.floor(index / 10) % ZONES_PER_REGION]}`,
      address: `127.64.${Math.floor(index / HOSTS)}.${1 + (index % HOSTS)}`,
    };
  });
}

export function nodeObject({ node, zone, region }: Seat): KubernetesObject {
  const labels = { "topology.kubernetes.io/zone": zone, "topology.kubernetes.io/region": region };
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name: node, labels },
    status: {
      allocatable: { cpu: "4", memory: "8Gi" },
      conditions: [{ type: "Ready", status: "True" }],
    },
  };
}

/** The pod of the node's probe, as created by the DaemonSet. */
export function probePod({ node, address }: Seat): KubernetesObject {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      namespace: "isochrone",
      name: `probe-${node}`,
      labels: { "app.kubernetes.io/name": "isochrone-probe" },
    },
    spec: { nodeName: node, containers: [{ name: "probe", image: "none" }] },
    status: { phase: "Running", podIP: address },
  };
}

function regionOf(tenth: number): number {
  let left = tenth;
  return REGION_SHARES.findIndex((share) => (left -= share) < 0);
}
