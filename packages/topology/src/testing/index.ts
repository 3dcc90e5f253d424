// For tests of other packages.
export type { BandwidthLeaseAnswer, Problem } from "../schema.ts";
export { parseClusterGraph, parseWorkflowGraph } from "../validation.ts";
export type { GraphFetch } from "../client.ts";
export { channel, clusterSnapshot, deadLink, link, node, workflowSnapshot, workload } from "./builders.ts";
