export { CHECKSUMS, commonFixture, fixtureWorkflow } from "./common-fixture.ts";
export { channel, link, links, node, workload } from "./problems.ts";
export type { ClusterObjects } from "../feasibility/scheduling-model.ts";
export { FILTER_PLUGINS, type FilterPlugin } from "../feasibility/objects/verdict.ts";
export { StrictNetworkOverhead, UpstreamNetworkOverhead } from "../network-overhead/network-overhead.ts";
export { DEFAULT_WEIGHTS } from "../resource-network/resource-network.ts";
export { zoneAdvice } from "../zones/advice.ts";
