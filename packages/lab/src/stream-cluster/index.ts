export { ShapedNetwork, type ShapedLink } from "../shaped/shaped-network.ts";
export { RunningStages, type StagedJob } from "../stages/stages.ts";
export { StreamCluster } from "./stream-cluster.ts";
