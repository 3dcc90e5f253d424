import { Poller, READABLE, ReceiveBatch, SYS, SendBatch, type Libc } from "@isochrone/kernel-sockets";
import { seededRandom, type Random } from "@isochrone/runtime";
import { nodeOfMac, portName } from "../addresses.ts";
import type { Counters, PathCounts } from "./counters.ts";
import { ETHERNET_BYTES, flipBit, readFrame, swapWords } from "./frame.ts";
import { FrameQueue } from "./frame-queue.ts";
import type { PathOrder, WirePlan } from "./messages.ts";
import { FLAGS, type PacketOutcome, type PacketRing } from "./packet-ring.ts";
import { NOT_ADMITTED, WirePath } from "./path.ts";
import { WirePort } from "./port.ts";
import { Recorder, type Arrival } from "./recorder.ts";

const RECEIVE_SLOTS = 64;
const SEND_SLOTS = 16;
const MAX_SENDS_IN_A_ROW = 64;
const MAX_WAIT_MS = 20;
/** The kernel wakes a sleeper some tens of µs late, so the end of a wait spins. */
const SPIN_MS = 0.12;
/** Share of time for spinning, and the most that is saved up: a busy wire must leave the core to others. */
const SPIN_SHARE = 0.3;
const MAX_SPIN_CREDIT_MS = 30;
const LEAD_STEP_MS = 0.000_5;
const MAX_LEAD_MS = 0.06;
/** Older timestamps mean that the clock was set. */
const MAX_STAMP_AGE_MS = 1000;
/** Longer readings of the clock were interrupted. */
const CLOCK_READING_MS = 0.01;
const CLOCK_ATTEMPTS = 5;

const NOT_DELIVERED: Readonly<Record<number, { outcome: PacketOutcome; count: keyof PathCounts }>> = {
  [NOT_ADMITTED.lost]: { outcome: "lost", count: "lost" },
  [NOT_ADMITTED.cut]: { outcome: "cut", count: "cut" },
  [NOT_ADMITTED.queueFull]: { outcome: "queue_full", count: "queueFull" },
};

interface WireLoopOptions {
  readonly libc: Libc;
  readonly plan: WirePlan;
  readonly ring: PacketRing;
  readonly counters: Counters;
  /** Clock of the thread, ms. */
  readonly monotonic: () => number;
}

export class WireLoop {
  readonly #libc: Libc;
  readonly #monotonic: () => number;
  readonly #recorder: Recorder;
  readonly #counters: Counters;
  readonly #ports: readonly WirePort[];
  readonly #paths: readonly (readonly WirePath[])[];
  readonly #random: Random;
  readonly #queue: FrameQueue;
  readonly #poller: Poller;
  readonly #frames: ReceiveBatch;
  readonly #stamps: ReceiveBatch;
  readonly #sends: SendBatch;
  readonly #arrival: Arrival;
  readonly #sending: number[] = [];
  #sendingTo = -1;
  #leadMs = 0.01;
  #spinCreditMs = MAX_SPIN_CREDIT_MS;
  #lastTurnMs: number;
  /** The same instant on the thread's clock and on the timestamps' clock. */
  #nowMs = 0;
  #nowNs = 0;

  /** Opens the ports in the thread's network namespace. @throws SystemCallError */
  constructor({ libc, plan, ring, counters, monotonic }: WireLoopOptions) {
    this.#libc = libc;
    this.#monotonic = monotonic;
    this.#lastTurnMs = monotonic();
    this.#recorder = new Recorder(ring, counters, plan.nodes);
    this.#counters = counters;
    this.#random = seededRandom(plan.seed);
    // Each path has its own random sequence, so that paths are independent.
    const seedOf = (source: number, target: number): number =>
      Math.imul(plan.seed, 0x9e3779b1) ^ (source << 17) ^ (target << 1);
    this.#paths = plan.paths.map((row, source) =>
      row.map((path, target) => new WirePath(path, seededRandom(seedOf(source, target)))),
    );
    // One extra byte detects frames that are too long.
    const frameBytes = plan.mtu + ETHERNET_BYTES + 1;
    this.#queue = new FrameQueue(plan.queueFrames, frameBytes);
    this.#frames = new ReceiveBatch(libc, RECEIVE_SLOTS, frameBytes);
    this.#stamps = new ReceiveBatch(libc, SEND_SLOTS, 64);
    this.#sends = new SendBatch(libc, SEND_SLOTS, frameBytes);
    this.#arrival = {
      source: 0,
      target: 0,
      bytes: this.#frames.data.bytes,
      at: 0,
      length: 0,
      layout: { family: 4, protocol: 0, transportAt: 0, end: 0 },
      entryNs: 0,
      entryMs: 0,
      isStamped: false,
    };
    this.#poller = new Poller(libc);
    this.#ports = plan.paths.map((_, node) => WirePort.open(libc, portName(node)));
    for (const [node, port] of this.#ports.entries()) {
      this.#poller.add(port.fd, READABLE, (events) => {
        if ((events & SYS.POLLERR) !== 0) port.readStamps(this.#stamps, this.#stamp);
        this.#receive(node);
      });
    }
  }

  change({ source, target, path }: PathOrder): void {
    this.#paths[source]![target]!.change(path, this.#monotonic());
  }

  turn(): void {
    this.#sendDue();
    const nowMs = this.#monotonic();
    const earnedMs = (nowMs - this.#lastTurnMs) * SPIN_SHARE;
    this.#spinCreditMs = Math.min(MAX_SPIN_CREDIT_MS, this.#spinCreditMs + earnedMs);
    this.#lastTurnMs = nowMs;
    const sendAtMs = this.#queue.nextDueMs - this.#leadMs;
    const waitMs = sendAtMs - nowMs;
    const spins = this.#spinCreditMs > SPIN_MS;
    if (spins && waitMs > 0 && waitMs <= SPIN_MS) {
      this.#spinCreditMs -= waitMs;
      while (this.#monotonic() < sendAtMs);
      return;
    }
    this.#poller.wait(Math.min(MAX_WAIT_MS, Math.max(0, spins ? waitMs - SPIN_MS : waitMs)));
  }

  #receive(source: number): void {
    const port = this.#ports[source]!;
    const count = this.#frames.receive(port.fd);
    if (count <= 0) return;
    this.#readClocks();
    const arrival = this.#arrival;
    arrival.source = source;
    for (let slot = 0; slot < count; slot++) {
      const info = this.#frames.info(slot);
      const overrun = port.newOverflows(info);
      if (overrun > 0) this.#counters.addWire("overrun", overrun);
      arrival.at = slot * this.#queue.frameBytes;
      arrival.length = this.#frames.length(slot);
      if (!this.#isForwarded()) {
        this.#counters.addWire("ignored");
        continue;
      }
      this.#time(info.kernelTime);
      this.#recorder.entered(arrival);
      this.#admit();
    }
    this.#counters.maxWire("mostWaiting", this.#queue.size);
  }

  #isForwarded(): boolean {
    const { source, bytes, at, length, layout } = this.#arrival;
    const target = nodeOfMac(bytes, at);
    if (target < 0 || target >= this.#ports.length || target === source) return false;
    this.#arrival.target = target;
    return length < this.#queue.frameBytes && readFrame(bytes, at, length, layout);
  }

  #time(kernelTime: number): void {
    const arrival = this.#arrival;
    arrival.isStamped = !Number.isNaN(kernelTime);
    arrival.entryNs = arrival.isStamped ? kernelTime : this.#nowNs;
    const ageMs = (this.#nowNs - arrival.entryNs) / 1e6;
    const isOdd = ageMs < 0 || ageMs > MAX_STAMP_AGE_MS;
    if (isOdd) this.#counters.addWire("oddStamps");
    arrival.entryMs = isOdd ? this.#nowMs : this.#nowMs - ageMs;
  }

  #admit(): void {
    const arrival = this.#arrival;
    const path = this.#paths[arrival.source]![arrival.target]!;
    const admittedMs = path.admit(arrival.length, arrival.entryMs);
    const dueMs = admittedMs >= 0 && this.#queue.freeSlot() < 0 ? NOT_ADMITTED.queueFull : admittedMs;
    if (dueMs < 0) {
      const { outcome, count } = NOT_DELIVERED[dueMs]!;
      this.#recorder.dropped(arrival, outcome, count);
      return;
    }
    const intendedMs = dueMs - arrival.entryMs;
    this.#enqueue(dueMs, this.#recorder.waits(arrival, intendedMs, path.corrupted ? FLAGS.corrupted : 0));
    if (!path.duplicated || this.#queue.freeSlot() < 0) return;
    path.corrupted = false;
    this.#enqueue(dueMs, this.#recorder.waits(arrival, intendedMs, FLAGS.duplicate));
  }

  #enqueue(dueMs: number, packet: number): void {
    const { source, target, bytes, at, length, layout } = this.#arrival;
    const { bytes: store, frameBytes } = this.#queue;
    const to = this.#queue.freeSlot() * frameBytes;
    bytes.copy(store, to, at, at + length);
    const path = this.#paths[source]![target]!;
    if (path.corrupted) {
      const swaps = path.settings.corruptKind === "swap";
      if (!swaps || !swapWords(store, to, layout, this.#random)) flipBit(store, to, layout, this.#random);
    }
    this.#queue.add(dueMs, length, target, packet);
  }

  /** Reads both clocks; repeats if interrupted in between. */
  #readClocks(): void {
    for (let attempt = 0; attempt < CLOCK_ATTEMPTS; attempt++) {
      const beforeMs = this.#monotonic();
      this.#nowNs = this.#libc.clock(SYS.CLOCK_REALTIME);
      const afterMs = this.#monotonic();
      this.#nowMs = (beforeMs + afterMs) / 2;
      if (afterMs - beforeMs < CLOCK_READING_MS) return;
    }
  }

  #sendDue(): void {
    const queue = this.#queue;
    let untilMs = this.#monotonic() + this.#leadMs;
    for (let sent = 0; sent < MAX_SENDS_IN_A_ROW && queue.nextDueMs <= untilMs; sent++) {
      const slot = queue.take();
      const target = queue.targetOf(slot);
      if (this.#sends.full || target !== this.#sendingTo) {
        this.#flush();
        untilMs = this.#monotonic() + this.#leadMs;
      }
      this.#sendingTo = target;
      this.#sending.push(queue.packetOf(slot));
      const length = queue.lengthOf(slot);
      const from = slot * queue.frameBytes;
      queue.bytes.copy(this.#sends.add(length, null), 0, from, from + length);
    }
    this.#flush();
  }

  #flush(): void {
    const packets = this.#sending;
    if (packets.length === 0) return;
    const port = this.#ports[this.#sendingTo]!;
    const nowNs = this.#libc.clock(SYS.CLOCK_REALTIME);
    const sent = port.send(this.#sends, packets);
    for (let i = 0; i < packets.length; i++) {
      if (i < sent) this.#recorder.left(packets[i]!, nowNs);
      else this.#recorder.refused(packets[i]!);
    }
    // A veth timestamps on transmit, so the timestamps are already available.
    port.readStamps(this.#stamps, this.#stamp);
    if (sent < packets.length) port.restart();
    packets.length = 0;
    this.#counters.setWire("leadUs", this.#leadMs * 1000);
  }

  readonly #stamp = (packet: number, kernelTime: number): void => {
    const latenessMs = this.#recorder.stamped(packet, kernelTime);
    if (Number.isNaN(latenessMs)) return;
    const step = latenessMs > 0 ? LEAD_STEP_MS : -LEAD_STEP_MS;
    this.#leadMs = Math.max(0, Math.min(MAX_LEAD_MS, this.#leadMs + step));
  };
}
