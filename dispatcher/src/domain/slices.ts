// Endpoints of a Service's port from its EndpointSlices.
import type { EndpointSliceView, SliceEndpoint } from "../ports/ports.ts";

/** An endpoint that is a pod of its Service. */
interface PodEndpoint extends SliceEndpoint {
  readonly uid: string;
  readonly node: string | null;
}

/** A slice reduced to pods of its Service. */
export interface PodSlice extends EndpointSliceView {
  readonly endpoints: readonly PodEndpoint[];
}

/** A destination for a port. */
export interface Address {
  readonly address: string;
  readonly port: number;
  /** UID of the pod. */
  readonly uid: string;
  readonly node: string | null;
  readonly zone: string | null;
}

/** Address families by preference; the first with endpoints is used. */
const FAMILIES = ["IPv4", "IPv6"];

/** Ready endpoints of one address family; if none, terminating ones that still serve, like kube-proxy. */
export function addressesOf(slices: readonly PodSlice[], portName: string): Address[] {
  for (const takes of [isReady, isServing])
    for (const family of FAMILIES) {
      const found = slices.flatMap((slice) =>
        slice.family === family ? addressesIn(slice, portName, takes) : [],
      );
      // While slices are updated, an endpoint may be in two.
      if (found.length > 0)
        return [...new Map(found.map((each) => [`${each.address} ${each.port}`, each])).values()];
    }
  return [];
}

function addressesIn(
  { ports, endpoints }: PodSlice,
  portName: string,
  takes: (endpoint: SliceEndpoint) => boolean,
): Address[] {
  const port = ports.get(portName);
  if (port === undefined) return [];
  return endpoints.filter(takes).map(({ address, uid, node, zone }) => ({ address, port, uid, node, zone }));
}

function isReady({ ready }: SliceEndpoint): boolean {
  return ready;
}

function isServing({ serving, terminating }: SliceEndpoint): boolean {
  return serving && terminating;
}
