// Who serves a port of a Service, by its EndpointSlices.
import type { EndpointSliceView, SliceEndpoint } from "../ports/ports.ts";

/** An endpoint that is a pod of its Service. */
interface PodEndpoint extends SliceEndpoint {
  readonly uid: string;
  readonly node: string | null;
}

/** A slice with pods of its Service alone. */
export interface PodSlice extends EndpointSliceView {
  readonly endpoints: readonly PodEndpoint[];
}

/** Where requests for a port may be sent. */
export interface Address {
  readonly address: string;
  readonly port: number;
  /** Uid of the pod. */
  readonly uid: string;
  readonly node: string | null;
  readonly zone: string | null;
}

/** Families that requests are sent to, the first that has endpoints. */
const FAMILIES = ["IPv4", "IPv6"];

/**
 * Ready endpoints of one address family; where none is ready, those that still serve while they end, as
 * kube-proxy does.
 */
export function addressesOf(slices: readonly PodSlice[], portName: string): Address[] {
  for (const takes of [isReady, isServing])
    for (const family of FAMILIES) {
      const found = slices.flatMap((slice) =>
        slice.family === family ? addressesIn(slice, portName, takes) : [],
      );
      // During an update of slices an endpoint may be in two.
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
