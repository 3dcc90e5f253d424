// Runs one closed loop in its own thread, like the measuring thread, and returns its results.
import { parentPort, workerData } from "node:worker_threads";
import { type ClosedLoopOptions, runClosedLoop } from "@isochrone/probe/testing";

const options = workerData as ClosedLoopOptions;
// A separate run, so that the warm-up is not counted.
await runClosedLoop({ ...options, durationMs: options.warmupMs, warmupMs: 0 });
const startCpu = process.threadCpuUsage();
const snapshot = await runClosedLoop({ ...options, warmupMs: 0 });
const { user, system } = process.threadCpuUsage(startCpu);
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- not a window
parentPort?.postMessage({ snapshot, cpuMs: (user + system) / 1000 });
