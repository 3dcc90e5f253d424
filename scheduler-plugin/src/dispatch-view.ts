export { clusterZones, orderedService } from "./dispatch/objects/service-view.ts";
export { sharesNow, sharesOf } from "./dispatch/objects/service-traffic.ts";
