// Random networks and jobs, and jobs that come and go: for experiments, benchmarks and tests.
export { randomNetwork, type Draw, type RandomNetwork, type RandomNetworkOptions } from "./random-network.ts";
export { simulate, type Arrival, type JobOutcome, type SimulationResult } from "./simulate.ts";
export { videoJob } from "./video-job.ts";
