import { parentPort, workerData } from "node:worker_threads";
import { monotonicMs } from "./monotonic.ts";
import { WakeSignal } from "./wake-signal.ts";

// Node's timers have a granularity of 1 ms, and polling costs a core. A thread sleeping on a futex is precise
// to about 0.1 ms, at two thread switches per wake-up.
const signal = new WakeSignal(workerData as SharedArrayBuffer);
let seen = 0;
for (;;) {
  seen = signal.waitForNext(seen, monotonicMs);
  parentPort?.postMessage(seen, []);
}
