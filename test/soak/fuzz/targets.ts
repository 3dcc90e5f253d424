import {
  dispatcherClientFrames,
  dispatcherClients,
  dispatcherEndpointFrames,
  dispatcherEndpoints,
  dispatcherStreams,
} from "./targets-dispatcher.ts";
import type { Target } from "./oracle.ts";
import { apiRequests, extenderRequests } from "./targets-http.ts";
import * as objects from "./targets-objects.ts";
import * as wire from "./targets-wire.ts";

/** Created on demand, because some start servers. */
export const TARGETS: Readonly<Record<string, () => Target | Promise<Target>>> = {
  ...Object.fromEntries(
    [...Object.values(wire), ...Object.values(objects)].map((target) => [target.name, () => target]),
  ),
  "extender-requests": extenderRequests,
  "api-requests": apiRequests,
  "dispatcher-clients": dispatcherClients,
  "dispatcher-endpoints": dispatcherEndpoints,
  "dispatcher-streams": dispatcherStreams,
  "dispatcher-client-frames": dispatcherClientFrames,
  "dispatcher-endpoint-frames": dispatcherEndpointFrames,
};
