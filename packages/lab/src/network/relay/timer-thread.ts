import { parentPort, workerData } from "node:worker_threads";
import { monotonicMs } from "./monotonic.ts";
import { WakeSignal } from "./wake-signal.ts";

// Node's own timers have a grain of 1 ms, and polling costs a core; a thread that sleeps on a futex is exact
// to about 0.1 ms and costs two thread switches a wake-up.
const signal = new WakeSignal(workerData as SharedArrayBuffer);
let seen = 0;
for (;;) {
  seen = signal.waitForNext(seen, monotonicMs);
  parentPort?.postMessage(seen, []);
}
