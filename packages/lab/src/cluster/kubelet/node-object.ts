import { KINDS, timestamp } from "@isochrone/kubernetes";
import type { KubernetesObject } from "@isochrone/kubernetes";
import type { Site } from "../ports.ts";

const MAX_PODS = 110;

export function nodeObject(
  site: Site,
  address: string,
  kubeletPort: number,
  nowMs: number,
): KubernetesObject {
  const resources = {
    cpu: `${site.cpuMillicores}m`,
    memory: `${Math.floor(site.memoryBytes / 1024)}Ki`,
    pods: String(MAX_PODS),
  };
  const time = timestamp(nowMs);
  const condition = (type: string, status: string, reason: string): Record<string, string> => ({
    type,
    status,
    reason,
    lastHeartbeatTime: time,
    lastTransitionTime: time,
  });
  return {
    ...KINDS.node,
    metadata: {
      name: site.name,
      labels: {
        "kubernetes.io/hostname": site.name,
        "kubernetes.io/os": "linux",
        "topology.kubernetes.io/region": site.region,
        "topology.kubernetes.io/zone": site.zone,
      },
    },
    spec: {},
    status: {
      capacity: resources,
      allocatable: resources,
      addresses: [
        { type: "InternalIP", address },
        { type: "Hostname", address: site.name },
      ],
      conditions: [
        condition("Ready", "True", "KubeletReady"),
        condition("MemoryPressure", "False", "KubeletHasSufficientMemory"),
      ],
      daemonEndpoints: { kubeletEndpoint: { Port: kubeletPort } },
      nodeInfo: { kubeletVersion: "embedded" },
    },
  };
}
