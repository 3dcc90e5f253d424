// Who serves a port of a Service, by its EndpointSlices.
import type { EndpointSliceView, SliceEndpoint } from "../ports/ports.ts";

/** Where requests for a port may be sent. */
export interface Address {
  readonly address: string;
  readonly port: number;
  /** Of the pod; null: nobody says. */
  readonly uid: string | null;
  readonly node: string | null;
  readonly zone: string | null;
}

/** Families that requests are sent to, the first that has endpoints. */
const FAMILIES = ["IPv4", "IPv6"];

/**
 * Ready endpoints of one address family; where none is ready, those that still serve while they end, as
 * kube-proxy does.
 */
export function addressesOf(slices: readonly EndpointSliceView[], portName: string): Address[] {
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
  { ports, endpoints }: EndpointSliceView,
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
