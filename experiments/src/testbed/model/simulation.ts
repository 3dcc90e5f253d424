import { NumberHeap } from "@isochrone/primitives";
import { seededRandom } from "@isochrone/runtime";
import type { Random } from "@isochrone/runtime";
import type { PointLoad } from "../../scenario/model.ts";
import { CALL_TIMEOUT_MS } from "../users.ts";
import { CallTable, NONE } from "./call-table.ts";
import type { Plan } from "./plan.ts";
import { Requests } from "./requests.ts";
import { SharedCpus } from "./shared-cpu.ts";

/** Independent seeds, so that load, work and choices don't affect each other. */
const STREAMS = { work: 0x51ed270b, choice: 0x2545f491 } as const;

interface Counts {
  readonly busyMs: Float64Array;
  /** User requests. */
  sent: number;
  /** Indexed by edge. */
  readonly requests: Float64Array;
  /** Both directions, by node of caller and callee, row-major. */
  readonly bytesBetween: Float64Array;
}

interface SimulationOptions {
  readonly plan: Plan;
  readonly load: PointLoad;
  /** One-way delay by nodes, row-major. Read per message, so changes affect later messages. */
  readonly delayMs: Float64Array;
  readonly seed: number;
}

/**
 * Queueing network. Pods serve requests one by one and wait for callees without blocking, like an event loop.
 * Nodes share CPU among pods; messages take time.
 */
export class Simulation {
  readonly #plan: Plan;
  readonly #delayMs: Float64Array;
  readonly #nodes: number;
  readonly #requests: Requests;
  readonly #calls = new CallTable();
  readonly #messages = new NumberHeap();
  readonly #cpus: SharedCpus;
  readonly #work: Random;
  readonly #choice: Random;
  readonly #podNode: Int32Array;
  /** Dead pods neither answer nor receive calls. */
  readonly #isDead: Uint8Array;
  /** Ready pods of each workload, from `firstPod` on. */
  readonly #ready: Int32Array;
  readonly #readyCounts: Int32Array;
  readonly #turn: Int32Array;
  #usersTurn = 0;
  readonly #serving: Int32Array;
  readonly #servingMs: Float64Array;
  readonly #queueHead: Int32Array;
  readonly #queueTail: Int32Array;
  readonly #probability: Float64Array;
  readonly #edges: number;
  readonly #counts: Counts;
  #nowMs = 0;
  #events = 0;

  constructor({ plan, load, delayMs, seed }: SimulationOptions) {
    const pods = plan.podNames.length;
    this.#plan = plan;
    this.#delayMs = delayMs;
    this.#nodes = plan.cores.length;
    this.#requests = new Requests(load, seed);
    this.#cpus = new SharedCpus(plan.cores, pods);
    this.#work = seededRandom(seed ^ STREAMS.work);
    this.#choice = seededRandom(seed ^ STREAMS.choice);
    this.#podNode = plan.podNode.slice();
    this.#isDead = new Uint8Array(pods);
    this.#ready = Int32Array.from({ length: pods }, (_, pod) => pod);
    this.#readyCounts = Int32Array.from(plan.cpuMs, (_, w) => plan.firstPod[w + 1]! - plan.firstPod[w]!);
    this.#edges = plan.edgeCallee.length;
    this.#turn = Int32Array.from({ length: pods * this.#edges }, () => this.#choice.next() * 1024);
    this.#serving = new Int32Array(pods).fill(NONE);
    this.#servingMs = new Float64Array(pods);
    this.#queueHead = new Int32Array(pods).fill(NONE);
    this.#queueTail = new Int32Array(pods).fill(NONE);
    this.#probability = plan.edgeProbability.slice();
    const busyMs = new Float64Array(plan.cpuMs.length);
    const bytesBetween = new Float64Array(this.#nodes ** 2);
    this.#counts = { busyMs, sent: 0, requests: new Float64Array(this.#edges), bytesBetween };
  }

  get nowMs(): number {
    return this.#nowMs;
  }
  /** Processed events: arrivals, completions, answers. */
  get events(): number {
    return this.#events;
  }
  get requests(): Requests {
    return this.#requests;
  }
  get counts(): Counts {
    return this.#counts;
  }
  get openCalls(): number {
    return this.#calls.countOpen();
  }

  resetCounts(): void {
    this.#counts.busyMs.fill(0);
    this.#counts.sent = 0;
    this.#counts.requests.fill(0);
    this.#counts.bytesBetween.fill(0);
  }

  setProbability(edge: number, probability: number): void {
    this.#probability[edge] = probability;
  }

  /** Runs to `endMs`; with `settle`, until all requests are settled. Never passes `untilMs`. */
  run(endMs: number, settle: boolean, untilMs: number): void {
    const requests = this.#requests;
    const messages = this.#messages;
    const cpus = this.#cpus;
    for (;;) {
      const userMs = requests.nextMs;
      const messageMs = messages.nextKey;
      const cpuMs = cpus.nextMs;
      const nextMs = Math.min(userMs, messageMs, cpuMs);
      if (nextMs >= endMs && !(settle && requests.openInWindow > 0)) break;
      if (nextMs >= untilMs) {
        this.#nowMs = untilMs;
        return;
      }
      this.#nowMs = nextMs;
      this.#events++;
      if (messageMs === nextMs) this.#receive(messages.pop());
      else if (cpuMs === nextMs) this.#finish(cpus.finish());
      else this.#sendRequest();
    }
    this.#nowMs = Math.max(this.#nowMs, Math.min(endMs, untilMs));
  }

  /** Sends no new calls to this pod; it finishes pending ones. */
  takeOut(pod: number): void {
    const workload = this.#plan.podWorkload[pod]!;
    const first = this.#plan.firstPod[workload]!;
    const count = this.#readyCounts[workload]!;
    const at = this.#ready.subarray(first, first + count).indexOf(pod);
    if (at < 0) return;
    this.#ready.copyWithin(first + at, first + at + 1, first + count);
    this.#readyCounts[workload]!--;
  }

  /** Kills the pod and its calls, as a node failure does. Callers see broken connections. */
  kill(pod: number): void {
    this.#drop(pod);
    this.#isDead[pod] = 1;
    // Also loses calls that wait for answers. Callers learn of it at the latest when these arrive.
    const { pod: pods, waitsFor, failed } = this.#calls;
    for (let call = 0; call < pods.length; call++)
      if (pods[call] === pod && waitsFor[call]! > 0) failed[call] = 1;
  }

  #drop(pod: number): void {
    this.takeOut(pod);
    if (this.#serving[pod] !== NONE) {
      const leftMs = this.#cpus.abandon(this.#podNode[pod]!, pod, this.#nowMs);
      this.#counts.busyMs[this.#plan.podWorkload[pod]!]! += this.#servingMs[pod]! - leftMs;
      this.#fail(this.#serving[pod]!);
      this.#serving[pod] = NONE;
    }
    for (let call = this.#queueHead[pod]!; call !== NONE;) {
      const next = this.#calls.next[call]!;
      this.#fail(call);
      call = next;
    }
    this.#queueHead[pod] = this.#queueTail[pod] = NONE;
  }

  /** Starts the replacement. The old pod still answers waiting calls during its grace period. */
  revive(pod: number, node: number): void {
    this.#drop(pod);
    this.#podNode[pod] = node;
    this.#isDead[pod] = 0;
    const workload = this.#plan.podWorkload[pod]!;
    const first = this.#plan.firstPod[workload]!;
    const count = this.#readyCounts[workload]!++;
    this.#ready[first + count] = pod;
    this.#ready.subarray(first, first + count + 1).sort();
  }

  nodeOf(pod: number): number {
    return this.#podNode[pod]!;
  }

  #sendRequest(): void {
    const plan = this.#plan;
    const nowMs = this.#nowMs;
    const request = this.#requests.send();
    if (request < 0) return;
    this.#counts.sent++;
    const count = this.#readyCounts[plan.entry]!;
    if (count === 0) return this.#requests.answered(request, true, nowMs);
    const pod = this.#ready[plan.firstPod[plan.entry]! + (this.#usersTurn++ % count)]!;
    const call = this.#calls.open(pod, NONE, request, nowMs);
    this.#messages.push(nowMs + this.#usersDelayMs(pod), 2 * call);
  }

  #usersDelayMs(pod: number): number {
    const node = this.#podNode[pod]!;
    const { usersAt } = this.#plan;
    return this.#delayMs[(usersAt === NONE ? node : usersAt) * this.#nodes + node]!;
  }

  #delayBetween(podA: number, podB: number): number {
    return this.#delayMs[this.#podNode[podA]! * this.#nodes + this.#podNode[podB]!]!;
  }

  /** A message is twice its call's row, plus one for an answer. */
  #receive(message: number): void {
    const call = message >> 1;
    if ((message & 1) === 0) this.#arrive(call);
    else this.#takeAnswer(call);
  }

  #arrive(call: number): void {
    const pod = this.#calls.pod[call]!;
    if (this.#isDead[pod] === 1) return this.#fail(call);
    if (this.#serving[pod] === NONE) return this.#serve(pod, call);
    this.#calls.next[call] = NONE;
    const tail = this.#queueTail[pod]!;
    if (tail === NONE) this.#queueHead[pod] = call;
    else this.#calls.next[tail] = call;
    this.#queueTail[pod] = call;
  }

  #serve(pod: number, call: number): void {
    const workload = this.#plan.podWorkload[pod]!;
    let workMs = this.#plan.cpuMs[workload]!;
    if (this.#plan.isExponential[workload] === 1) workMs *= -Math.log(1 - this.#work.next());
    this.#serving[pod] = call;
    this.#servingMs[pod] = workMs;
    this.#cpus.begin(this.#podNode[pod]!, pod, workMs, this.#nowMs);
  }

  #finish(pod: number): void {
    const call = this.#serving[pod]!;
    this.#counts.busyMs[this.#plan.podWorkload[pod]!]! += this.#servingMs[pod]!;
    const next = this.#queueHead[pod]!;
    if (next === NONE) this.#serving[pod] = NONE;
    else {
      this.#queueHead[pod] = this.#calls.next[next]!;
      if (this.#queueHead[pod] === NONE) this.#queueTail[pod] = NONE;
      this.#serve(pod, next);
    }
    this.#callOthers(pod, call);
  }

  #callOthers(pod: number, call: number): void {
    const plan = this.#plan;
    const nowMs = this.#nowMs;
    const workload = plan.podWorkload[pod]!;
    const end = plan.firstEdge[workload + 1]!;
    let waitsFor = 0;
    for (let edge = plan.firstEdge[workload]!; edge < end; edge++) {
      const probability = this.#probability[edge]!;
      if (probability < 1 && this.#choice.next() >= probability) continue;
      const callee = plan.edgeCallee[edge]!;
      const count = this.#readyCounts[callee]!;
      this.#counts.requests[edge]!++;
      if (count === 0) {
        this.#calls.failed[call] = 1;
        continue;
      }
      const turn = this.#turn[pod * this.#edges + edge]!++;
      const target = this.#target(pod, plan.firstPod[callee]!, count, turn);
      this.#counts.bytesBetween[this.#podNode[pod]! * this.#nodes + this.#podNode[target]!]! +=
        plan.edgeBytes[edge]!;
      this.#messages.push(
        nowMs + this.#delayBetween(pod, target),
        2 * this.#calls.open(target, call, edge, nowMs),
      );
      waitsFor++;
    }
    if (waitsFor === 0) this.#answer(call);
    else this.#calls.waitsFor[call] = waitsFor;
  }

  #target(caller: number, first: number, count: number, turn: number): number {
    const { zoneOf } = this.#plan;
    if (zoneOf !== null) {
      const zone = zoneOf[this.#podNode[caller]!]!;
      const near = this.#ready
        .subarray(first, first + count)
        .filter((pod) => zoneOf[this.#podNode[pod]!] === zone);
      if (near.length > 0) return near[turn % near.length]!;
    }
    return this.#ready[first + (turn % count)]!;
  }

  #fail(call: number): void {
    this.#calls.failed[call] = 1;
    this.#answer(call);
  }

  #answer(call: number): void {
    const { pod, parent } = this.#calls;
    const from = pod[call]!;
    const caller = parent[call]!;
    this.#calls.waitsFor[call] = 0;
    const delayMs = caller === NONE ? this.#usersDelayMs(from) : this.#delayBetween(from, pod[caller]!);
    this.#messages.push(this.#nowMs + delayMs, 2 * call + 1);
  }

  #takeAnswer(call: number): void {
    const calls = this.#calls;
    const parent = calls.parent[call]!;
    const tooLate = this.#nowMs - calls.sentMs[call]! > CALL_TIMEOUT_MS;
    if (parent === NONE) this.#requests.answered(calls.origin[call]!, calls.failed[call] === 1, this.#nowMs);
    else {
      if (calls.failed[call] === 1 || tooLate) calls.failed[parent] = 1;
      if (--calls.waitsFor[parent]! === 0) this.#answer(parent);
    }
    calls.close(call);
  }
}
