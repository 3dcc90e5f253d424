import { MinHeap } from "@isochrone/primitives";
import { EventQueue } from "@isochrone/primitives/algorithms";
import {
  CLOUD,
  type Dispatcher,
  type DispatchRequest,
  type FrameView,
  type Orchestrator,
  type ReplicaChange,
  type ServiceProfile,
  type SystemState,
} from "@isochrone/dispatch";
import type { Arrival, Workload } from "../requests/workload.ts";
import type { SystemSettings } from "../requests/settings.ts";
import { buildNodes } from "./build.ts";
import { FrameCounts } from "./frame-counts.ts";
import { knowledgeOf, type Knowledge, type KnowledgeKind } from "./knowledge.ts";
import { enqueue, type SimNode } from "./sim-node.ts";
import { Tally, type Outcome } from "./tally.ts";

export interface Controls {
  readonly dispatcher: Dispatcher;
  readonly orchestrator: Orchestrator;
  readonly knowledge: KnowledgeKind;
  /** Delay of a centre; assigned requests travel there and back first. */
  readonly centreSeconds?: number;
  /** Called per frame before the orchestrator: requests per second by service and site. */
  readonly onFrame?: (state: SystemState, perSecond: readonly (readonly number[])[]) => void;
}

export interface Observer {
  settled(request: number, isInTime: boolean): void;
  /** @param failed share of the slot's requests that missed their deadline */
  slotEnded(state: SystemState, failed: number, waiting: (site: number) => DispatchRequest | null): void;
  /** @param inTime share of the frame's requests */
  frameEnded(state: SystemState, inTime: number): void;
}

/** Slot length if requests are dispatched on arrival. */
const TICK_SECONDS = 0.25;
const DRAIN_SECONDS = 60;
const CLOUD_CORES = 60;
const PULL_MB_PER_SECOND = 12.5;
const START_SECONDS = 2;
const ROUNDING = 1e-9;

export function simulate(
  settings: SystemSettings,
  workload: Workload,
  controls: Controls,
  seed: number,
  observer?: Observer,
): Outcome {
  return new Simulation(settings, workload, controls, seed, observer).run();
}

class Simulation {
  readonly #settings: SystemSettings;
  readonly #services: readonly ServiceProfile[];
  readonly #arrivals: readonly Arrival[];
  readonly #controls: Controls;
  readonly #observer: Observer | undefined;
  readonly #nodes: readonly SimNode[];
  readonly #queues: readonly Arrival[][];
  /** Time at which each uplink becomes free. */
  readonly #uplinkFree: Float64Array;
  readonly #events = new EventQueue();
  readonly #cloudQueue = new MinHeap<Arrival>();
  readonly #state: SystemState;
  readonly #knowledge: Knowledge;
  readonly #tally: Tally;
  #cloudFree = CLOUD_CORES;
  #arrived = 0;
  #slot = { inTime: 0, failed: 0 };
  #frame: FrameCounts;

  constructor(
    settings: SystemSettings,
    { services, arrivals }: Workload,
    controls: Controls,
    seed: number,
    observer: Observer | undefined,
  ) {
    this.#settings = settings;
    this.#services = services;
    this.#arrivals = arrivals;
    this.#controls = controls;
    this.#observer = observer;
    this.#nodes = buildNodes(settings, services);
    this.#queues = Array.from({ length: settings.sites }, () => []);
    this.#uplinkFree = new Float64Array(settings.sites);
    this.#state = this.#stateView();
    this.#knowledge = knowledgeOf(controls.knowledge, this.#state, seed);
    this.#tally = new Tally(settings.frameSeconds);
    this.#frame = new FrameCounts(services.length, settings.sites);
    for (const request of arrivals) this.#events.at(request.at, () => this.#arrive(request));
  }

  get #now(): number {
    return this.#events.now;
  }

  run(): Outcome {
    const { slotSeconds, frameSeconds, gossipSeconds, seconds } = this.#settings;
    const tick = slotSeconds ?? TICK_SECONDS;
    const ticksPerFrame = Math.max(1, Math.round(frameSeconds / tick));
    const ticksPerGossip = Math.max(1, Math.round(gossipSeconds / tick));
    const ticks = Math.ceil((seconds + DRAIN_SECONDS) / tick);
    for (let at = 0; at < ticks; at++) {
      this.#advance(at * tick);
      if (at > 0 && at % ticksPerFrame === 0) this.#endFrame();
      if (at % ticksPerGossip === 0) this.#knowledge.gossip();
      if (slotSeconds !== null) for (const site of this.#queues.keys()) this.#dispatchNext(site);
      this.#advance((at + 1) * tick);
      this.#endSlot();
    }
    this.#settleRest();
    return this.#tally.outcome();
  }

  /** Live view for policies, without a copy. */
  #stateView(): SystemState {
    const { ownMs, otherMs, cloudMs, uplinkMegabits } = this.#settings;
    const queues = this.#queues;
    const backlog = (site: number): number => Math.max(0, this.#uplinkFree[site]! - this.#now);
    const cloudFree = (): number => this.#cloudFree;
    const cloudQueue = this.#cloudQueue;
    return {
      services: this.#services,
      nodes: this.#nodes,
      sites: queues.map((queue, site) => ({
        nodes: this.#nodes.filter((node) => node.site === site),
        get queueLength() {
          return queue.length;
        },
        get uplinkBacklogSeconds() {
          return backlog(site);
        },
      })),
      cloud: {
        cores: CLOUD_CORES,
        get freeCores() {
          return cloudFree();
        },
        get queueLength() {
          return cloudQueue.size;
        },
      },
      network: {
        ownSeconds: ownMs / 1e3,
        otherSeconds: otherMs / 1e3,
        cloudSeconds: cloudMs / 1e3,
        uplinkMbPerSecond: uplinkMegabits / 8,
      },
    };
  }

  #advance(until: number): void {
    this.#frame.used(this.#nodes, Math.max(0, until - this.#now));
    this.#events.runUntil(until);
  }

  #arrive(request: Arrival): void {
    this.#arrived++;
    this.#frame.arrived(request);
    if (this.#settings.slotSeconds === null) this.#dispatch(request);
    else enqueue(this.#queues[request.site]!, request);
  }

  #dispatchNext(site: number): void {
    const queue = this.#queues[site]!;
    while (queue.length > 0 && queue[0]!.deadline <= this.#now) this.#settle(queue.shift()!, false);
    const request = queue.shift();
    if (request !== undefined) this.#dispatch(request);
  }

  #asked({ id, service, site, deadline }: Arrival): DispatchRequest {
    return { id, service, site, leftSeconds: deadline - this.#now };
  }

  #dispatch(request: Arrival): void {
    const asked = this.#asked(request);
    const view = this.#knowledge.view(asked);
    const began = performance.now();
    const { node } = this.#controls.dispatcher.choose(asked, view);
    this.#tally.dispatchMs += performance.now() - began;
    if (node === CLOUD) this.#sendToCloud(request);
    else this.#send(request, this.#nodes[node]!, asked);
  }

  #sendToCloud(request: Arrival): void {
    this.#tally.sentTo("cloud");
    const { payloadMb } = this.#services[request.service]!;
    const begin = Math.max(this.#now, this.#uplinkFree[request.site]!);
    if (begin >= request.deadline) return this.#settle(request, false);
    const { uplinkMbPerSecond, cloudSeconds } = this.#state.network;
    this.#tally.forwardedMb += payloadMb;
    this.#uplinkFree[request.site] = begin + payloadMb / uplinkMbPerSecond;
    const reached = this.#uplinkFree[request.site]! + cloudSeconds / 2;
    this.#events.at(reached, () => {
      this.#cloudQueue.push(request.deadline, request);
      this.#startInCloud();
    });
  }

  #send(request: Arrival, node: SimNode, asked: DispatchRequest): void {
    const isOwn = node.site === request.site;
    this.#tally.sentTo(isOwn ? "own" : "other");
    if (!isOwn) this.#tally.forwardedMb += this.#services[request.service]!.payloadMb;
    node.inFlight[request.service]!++;
    this.#knowledge.sent(asked, node.index);
    const seconds = this.#tripTo(node, request.site) / 2 + (this.#controls.centreSeconds ?? 0);
    this.#events.at(this.#now + seconds, () => {
      node.inFlight[request.service]!--;
      node.waiting[request.service]!++;
      enqueue(node.queue, request);
      this.#start(node);
    });
  }

  #tripTo(node: SimNode, site: number): number {
    const { ownSeconds, otherSeconds } = this.#state.network;
    return node.site === site ? ownSeconds : otherSeconds;
  }

  #end(node: SimNode, request: Arrival): void {
    node.busy[request.service]!--;
    node.freeCores += this.#services[request.service]!.cores;
    this.#settle(request, this.#now + this.#tripTo(node, request.site) / 2 <= request.deadline, node);
    this.#start(node);
  }

  /** Earliest deadline first. Drops expired requests; those without replica or CPU wait. */
  #start(node: SimNode): void {
    for (let at = 0; at < node.queue.length;) {
      const request = node.queue[at]!;
      const { service } = request;
      const { cores } = this.#services[service]!;
      const isExpired = request.deadline <= this.#now;
      const canStart = node.busy[service]! < node.ready[service]! && node.freeCores >= cores - ROUNDING;
      if (!isExpired && !canStart) {
        at++;
        continue;
      }
      node.queue.splice(at, 1);
      node.waiting[service]!--;
      if (isExpired) this.#settle(request, false, node);
      else {
        node.busy[service]!++;
        node.freeCores -= cores;
        this.#events.at(this.#now + request.workSeconds, () => this.#end(node, request));
      }
    }
  }

  #startInCloud(): void {
    while (this.#cloudQueue.size > 0) {
      const request = this.#cloudQueue.pop()!;
      const { cores } = this.#services[request.service]!;
      if (request.deadline <= this.#now) this.#settle(request, false);
      else if (this.#cloudFree < cores) return this.#cloudQueue.push(request.deadline, request);
      else {
        this.#cloudFree -= cores;
        this.#events.at(this.#now + request.workSeconds, () => {
          this.#cloudFree += cores;
          const { cloudSeconds } = this.#state.network;
          this.#settle(request, this.#now + cloudSeconds / 2 <= request.deadline);
          this.#startInCloud();
        });
      }
    }
  }

  #settle(request: Arrival, isInTime: boolean, node: SimNode | null = null): void {
    this.#tally.settled(request.at, isInTime);
    this.#frame.settled(request.service, isInTime);
    if (isInTime) this.#slot.inTime++;
    else this.#slot.failed++;
    if (node !== null) this.#knowledge.settled(request.site, node.index, request.service);
    this.#observer?.settled(request.id, isInTime);
  }

  #endSlot(): void {
    const { inTime, failed } = this.#slot;
    this.#slot = { inTime: 0, failed: 0 };
    this.#observer?.slotEnded(this.#state, failed / Math.max(1, inTime + failed), (site) => {
      const next = this.#queues[site]![0];
      return next === undefined ? null : this.#asked(next);
    });
  }

  #endFrame(): void {
    const { frameSeconds } = this.#settings;
    const ended = this.#frame;
    this.#frame = new FrameCounts(this.#services.length, this.#settings.sites);
    this.#observer?.frameEnded(this.#state, ended.inTime());
    this.#controls.onFrame?.(this.#state, ended.perSecond(frameSeconds));
    const view: FrameView = {
      state: this.#state,
      frameSeconds,
      arrivals: ended.perSecond(frameSeconds).map((sites) => sites.reduce((sum, rate) => sum + rate, 0)),
      failures: [...ended.failed],
      utilizations: ended.utilizations(),
      upcoming: () => this.#upcoming(),
    };
    const began = performance.now();
    const changes = this.#controls.orchestrator.decide(view);
    this.#tally.orchestrateMs += performance.now() - began;
    this.#tally.orchestrations++;
    for (const change of changes) this.#change(change);
  }

  #upcoming(): number[] {
    const { frameSeconds } = this.#settings;
    const rates = this.#services.map(() => 0);
    for (let at = this.#arrived; (this.#arrivals[at]?.at ?? Infinity) < this.#now + frameSeconds; at++)
      rates[this.#arrivals[at]!.service]! += 1 / frameSeconds;
    return rates;
  }

  #change({ kind, service, node: index }: ReplicaChange): void {
    const node = this.#nodes[index]!;
    const { memoryGb, imageMb } = this.#services[service]!;
    if (kind === "remove") {
      if (node.ready[service]! - node.busy[service]! <= 0) return;
      node.ready[service]!--;
      node.freeMemoryGb += memoryGb;
      this.#tally.removed++;
      return;
    }
    if (node.freeMemoryGb < memoryGb - ROUNDING) return;
    node.freeMemoryGb -= memoryGb;
    node.starting[service]!++;
    this.#tally.added++;
    const pull = node.cached[service] === 1 ? 0 : imageMb;
    node.cached[service] = 1;
    this.#tally.imagesMb += pull;
    const ready = this.#now + START_SECONDS + pull / PULL_MB_PER_SECOND;
    this.#events.at(ready, () => {
      node.starting[service]!--;
      node.ready[service]!++;
      this.#start(node);
    });
  }

  /** Requests left after the drain count as late. */
  #settleRest(): void {
    const rest = [...this.#queues, ...this.#nodes.map(({ queue }) => queue)].flat();
    for (const request of rest) this.#settle(request, false);
    while (this.#cloudQueue.size > 0) this.#settle(this.#cloudQueue.pop()!, false);
  }
}
