import { podView, workloadOf } from "@isochrone/kubernetes";
import type { KubernetesObject } from "@isochrone/kubernetes";
import { PUBLISHED, UNKNOWN } from "../names.ts";
import { serviceSelects } from "../objects.ts";
import type { Identity } from "../pod/protocol.ts";

interface ServiceEndpoint {
  readonly node: string;
  /** Port of the inbound proxy on the node's address. */
  readonly port: number;
  readonly identity: Identity;
}

export interface ServiceEndpoints {
  readonly service: string;
  readonly namespace: string;
  readonly endpoints: readonly ServiceEndpoint[];
}

export function identityOf(pod: KubernetesObject, address: string): Identity {
  const labels = pod.metadata.labels ?? {};
  return {
    pod: pod.metadata.name,
    namespace: pod.metadata.namespace ?? "default",
    workload: workloadOf(pod).name,
    app: labels["app"] ?? labels["app.kubernetes.io/name"] ?? UNKNOWN,
    version: labels["version"] ?? labels["app.kubernetes.io/version"] ?? UNKNOWN,
    address,
  };
}

/** Endpoints by Service: ready, non-terminating pods, sorted by name. */
export function endpointsOf(
  services: readonly KubernetesObject[],
  pods: readonly KubernetesObject[],
): ServiceEndpoints[] {
  const serving = pods
    .filter((pod) => {
      const { ready, terminating } = podView(pod);
      return ready && !terminating;
    })
    .sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
  return services.map((service) => {
    const { name, namespace = "default" } = service.metadata;
    const endpoints = serving
      .filter((pod) => pod.metadata.namespace === namespace && serviceSelects(service, pod.metadata.labels))
      .flatMap(endpointOf);
    return { service: name, namespace, endpoints };
  });
}

function endpointOf(pod: KubernetesObject): ServiceEndpoint[] {
  const { node, ip } = podView(pod);
  const port = Number(pod.metadata.annotations?.[PUBLISHED.port]);
  if (node === null || !Number.isInteger(port)) return [];
  return [{ node, port, identity: identityOf(pod, ip ?? "") }];
}
