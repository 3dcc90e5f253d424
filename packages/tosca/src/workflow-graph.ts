import type { Channel, WorkflowGraphSnapshot } from "@isochrone/topology";
import type { Application, RouteChannel, ServiceNode } from "./application.ts";

/** The graph before anything runs: no pods, no traffic. */
export function workflowGraphOf(application: Application, observedAt: string): WorkflowGraphSnapshot {
  const { name, namespace, services, channels } = application;
  const nameOf = (service: ServiceNode): string => {
    const isTwice = services.some((other) => other !== service && other.name === service.name);
    return isTwice && service.namespace !== namespace ? `${service.namespace}/${service.name}` : service.name;
  };
  return {
    version: 0,
    observedAt,
    namespace,
    name,
    workloads: services.map((service) => ({
      name: nameOf(service),
      kind: "Deployment",
      namespace: service.namespace,
      cpuMillicores: null,
      memoryBytes: null,
      pods: [],
    })),
    channels: channels.map((channel) => channelOf(channel, nameOf)),
  };
}

function channelOf(channel: RouteChannel, nameOf: (service: ServiceNode) => string): Channel {
  const { source, target, priority, relationshipType, maxNetworkCost, minBandwidthBitsPerSecond } = channel;
  return {
    source: nameOf(source),
    target: nameOf(target),
    bytesPerSecond: null,
    requestsPerSecond: null,
    errorRatio: null,
    priority,
    maxNetworkCost,
    minBandwidthBitsPerSecond,
    relationshipType,
    origin: "declared",
    ageSeconds: null,
  };
}
