export { solveFigure2, type Figure2 } from "./figure-2.ts";
export { randomNetwork } from "./random-network.ts";
export { simulate, type Arrival, type SimulationResult } from "./simulate.ts";
export type { SystemChange } from "./system-change.ts";
export { videoJob } from "./video-job.ts";
