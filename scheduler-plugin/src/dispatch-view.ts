// How a Service is seen by what spreads its requests: for commands that look at it, and need no service for
// it.
export { clusterZones, orderedService } from "./dispatch/objects/service-view.ts";
export { sharesNow, sharesOf } from "./dispatch/objects/service-traffic.ts";
