import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { Counters } from "./counters.ts";
import type { PathOrder, ThreadMessage, ThreadPlan, WirePlan } from "./messages.ts";
import { PacketRing } from "./packet-ring.ts";

/** Handle of the packet thread: shared memory to read, orders to send. */
export class PacketThread {
  readonly ring: PacketRing;
  readonly counters: Counters;
  readonly kernelTimeBase: number;
  readonly #worker: Worker;
  readonly #orders: Int32Array;
  readonly #pending = new Map<number, () => void>();

  /** Resolves when it forwards, in the calling thread's namespace. Rejects with the reason of a failure. */
  static async start(plan: WirePlan, onError: (error: Error) => void): Promise<PacketThread> {
    const data: ThreadPlan = {
      plan,
      ring: PacketRing.allocate(plan.recordPackets),
      counters: Counters.allocate(plan.nodes),
      orders: new SharedArrayBuffer(4),
    };
    const worker = new Worker(new URL("thread.ts", import.meta.url), { workerData: data, execArgv: [] });
    const [message] = (await once(worker, "message")) as [ThreadMessage];
    if (message.kind !== "running")
      throw new Error(`the packet thread must say "running" first, said "${message.kind}"`);
    worker.on("error", onError);
    return new PacketThread(worker, data, message.kernelTimeBase);
  }

  private constructor(worker: Worker, { plan, ring, counters, orders }: ThreadPlan, kernelTimeBase: number) {
    this.kernelTimeBase = kernelTimeBase;
    this.ring = new PacketRing(ring);
    this.counters = new Counters(plan.nodes, counters);
    this.#orders = new Int32Array(orders);
    this.#worker = worker;
    worker.on("message", (message: ThreadMessage) => {
      if (message.kind !== "done") return;
      this.#pending.get(message.id)?.();
      this.#pending.delete(message.id);
    });
  }

  setPath(order: Omit<PathOrder, "id">): Promise<void> {
    return new Promise((resolve) => {
      // Increment the number only after the order was posted.
      const id = Atomics.load(this.#orders, 0) + 1;
      this.#pending.set(id, resolve);
      this.#worker.postMessage({ ...order, id }, []);
      Atomics.store(this.#orders, 0, id);
    });
  }
}
