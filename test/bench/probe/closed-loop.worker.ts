// Runs one closed loop in a thread of its own, as the measuring thread runs its flows, and hands over what it
// saw.
import { parentPort, workerData } from "node:worker_threads";
import { type ClosedLoopOptions, runClosedLoop } from "@isochrone/probe/testing";

const options = workerData as ClosedLoopOptions;
// In a run of its own, so that what warming up costs isn't counted.
await runClosedLoop({ ...options, durationMs: options.warmupMs, warmupMs: 0 });
const startCpu = process.threadCpuUsage();
const snapshot = await runClosedLoop({ ...options, warmupMs: 0 });
const { user, system } = process.threadCpuUsage(startCpu);
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- not a window
parentPort?.postMessage({ snapshot, cpuMs: (user + system) / 1000 });
