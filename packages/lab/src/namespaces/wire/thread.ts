// Packet thread: only frames and occasional orders. Never returns to its event loop.
import { readlinkSync, writeFileSync } from "node:fs";
import { parentPort, receiveMessageOnPort, workerData } from "node:worker_threads";
import { kernelTimeBase, loadLibc } from "@isochrone/kernel-sockets";
import { Counters } from "./counters.ts";
import { WireLoop } from "./loop.ts";
import type { PathOrder, ThreadMessage, ThreadPlan } from "./messages.ts";
import { PacketRing } from "./packet-ring.ts";

const REALTIME_PRIORITY = 10;

const { plan, ring, counters, orders } = workerData as ThreadPlan;
const port = parentPort!;
const ordersSent = new Int32Array(orders);
let ordersSeen = 0;

function tell(message: ThreadMessage): void {
  port.postMessage(message, []);
}

/** The kernel may by default wake a sleeper 50 µs late to save power. */
function sharpenTimers(): void {
  const thread = readlinkSync("/proc/thread-self").split("/").pop();
  writeFileSync(`/proc/${thread}/timerslack_ns`, "1");
}

function obey(loop: WireLoop): void {
  ordersSeen = Atomics.load(ordersSent, 0);
  for (let next = receiveMessageOnPort(port); next !== undefined; next = receiveMessageOnPort(port)) {
    const order = next.message as PathOrder;
    loop.change(order);
    tell({ kind: "done", id: order.id });
  }
}

const libc = await loadLibc();
const loop = new WireLoop({
  libc,
  plan,
  ring: new PacketRing(ring),
  counters: new Counters(plan.nodes, counters),
  monotonic: () => performance.now(),
});
sharpenTimers();
// Refused without the right: delays are then late on a busy machine, which the record shows.
libc.setRealtimePriority(REALTIME_PRIORITY);
tell({ kind: "running", kernelTimeBase });
for (;;) {
  if (Atomics.load(ordersSent, 0) !== ordersSeen) obey(loop);
  loop.turn();
}
