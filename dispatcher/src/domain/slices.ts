import type { EndpointSliceView, SliceEndpoint } from "../ports/ports.ts";

interface PodEndpoint extends SliceEndpoint {
  readonly uid: string;
  readonly node: string | null;
}

export interface PodSlice extends EndpointSliceView {
  readonly endpoints: readonly PodEndpoint[];
}

export interface Address {
  readonly address: string;
  readonly port: number;
  readonly uid: string;
  readonly node: string | null;
  readonly zone: string | null;
}

const FAMILIES = ["IPv4", "IPv6"];

/** Ready endpoints of one address family; if none, terminating ones that still serve, like kube-proxy. */
export function addressesOf(slices: readonly PodSlice[], portName: string): Address[] {
  for (const takes of [isReady, isServing])
    for (const family of FAMILIES) {
      const found = slices.flatMap((slice) =>
        slice.family === family ? addressesIn(slice, portName, takes) : [],
      );
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
