// Runs StreamJobs for one leadership term. Each round reads the cluster, decides, and writes the differences;
// in-memory state can be lost.
import { createInformer, keyOf, KINDS } from "@isochrone/kubernetes";
import type { ClusterStore, Informer, InformerChange, KubernetesObject } from "@isochrone/kubernetes";
import { periodic, stopParts } from "@isochrone/runtime";
import type { Clock, Logger, Periodic, Random } from "@isochrone/runtime";
import type { SchedulingModel } from "@isochrone/placement";
import type { Change, StreamStrategy } from "@isochrone/streams";
import { isUnschedulable } from "../adapters/observed-pod.ts";
import type { ClusterObjects, FollowedObjects } from "../adapters/cluster-objects.ts";
import type { PodChanges } from "../adapters/cluster-pods.ts";
import { ClusterModel } from "../planner/cluster-model.ts";
import type { GraphSource } from "../ports/ports.ts";
import { addressesOf, isLost, rejectionOf, requestsOf, streamNodes } from "./cluster-facts.ts";
import { decide, type DecidedJob, type Verdict } from "./domain/decide.ts";
import { contentsOf, type FlowPlans } from "./domain/flow-plans.ts";
import type { Placement } from "./domain/placement.ts";
import type { StreamNode } from "./domain/planned-job.ts";
import type { FloorEvents } from "./floor-news.ts";
import { FlowNetworks } from "./flow-networks.ts";
import { JobFlows } from "./job-flows.ts";
import { JobPods, JobPodWriter } from "./job-pods.ts";
import { readPlacement } from "./job-status.ts";
import { JobWrites } from "./job-writes.ts";
import { KnownJobs, type KnownJob } from "./known-jobs.ts";
import { MeasuredPaces } from "./measured-pace.ts";
import type { StreamMetrics } from "./metrics.ts";
import { MoveRounds } from "./moves/move-rounds.ts";
import { TaskMoves, type MoveRules } from "./moves/task-moves.ts";
import { Profiler } from "./profiling/profiler.ts";
import { PutOffs } from "./put-offs.ts";
import { StatusTeller } from "./status-teller.ts";

interface StreamKeeperOptions {
  readonly store: ClusterStore;
  readonly pods: PodChanges;
  readonly objects: ClusterObjects;
  readonly graphs: GraphSource;
  readonly strategy: StreamStrategy;
  readonly plans: FlowPlans;
  /** Whether pods wait for the rules of their flows. */
  readonly awaitRules: boolean;
  /** Rules for moving running tasks; null: they stay. */
  readonly moveRules: MoveRules | null;
  readonly metrics: StreamMetrics;
  readonly events: FloorEvents;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

interface Decided {
  readonly basis: string;
  /** Replaced when nodes, volumes or namespaces change. */
  readonly model: SchedulingModel;
  readonly verdicts: Map<string, Verdict>;
  readonly untilMs: number;
}

/** Ports and other resources become free without a change of the basis, and waiting jobs become patient. */
const DECIDED_MS = 10_000;
/** For changes without an event: bandwidth, confirmations, time. */
const ROUND_MS = 1_000;

export class StreamKeeper {
  readonly #options: StreamKeeperOptions;
  readonly #jobs: Informer;
  readonly #networks: FlowNetworks;
  readonly #objects: FollowedObjects;
  readonly #model: ClusterModel;
  readonly #jobPods = new JobPods();
  readonly #known: KnownJobs;
  readonly #placements = new Map<string, Placement>();
  readonly #putOffs: PutOffs;
  readonly #writes: JobWrites;
  readonly #moves: MoveRounds | null;
  readonly #profiler: Profiler;
  readonly #paces: MeasuredPaces;
  readonly #statuses: StatusTeller;
  readonly #rounds: Periodic;
  readonly #endOfPods: () => void;
  readonly #isSynced: { jobs: boolean; pods: boolean } = { jobs: false, pods: false };
  readonly #stop = new AbortController();
  /** The first decision starts from an earlier leader's state. */
  #change: Change | null = "left";
  #decided: Decided | null = null;

  constructor(options: StreamKeeperOptions) {
    this.#options = options;
    const { store, clock, random, logger, metrics, pods, awaitRules, moveRules: rules } = options;
    const informed = { store, clock, random, logger };
    this.#rounds = periodic({
      clock,
      intervalMs: ROUND_MS,
      run: () => this.#round(),
      onError: (error) => logger.error("stream jobs can't be worked out", { error }),
    });
    this.#jobs = createInformer({ ...informed, kind: KINDS.streamJob });
    this.#jobs.onChange(() => this.#rounds.trigger());
    const onChange = (): void => this.#rounds.trigger();
    this.#networks = new FlowNetworks({ ...informed, events: options.events, metrics, onChange });
    this.#objects = options.objects.follow(() => {
      this.#model.rebuild();
      this.#rounds.trigger();
    });
    this.#model = new ClusterModel(this.#objects);
    this.#known = new KnownJobs(clock);
    this.#putOffs = new PutOffs(clock, random);
    this.#paces = new MeasuredPaces(options.graphs);
    const writer = new JobPodWriter(store);
    this.#profiler = new Profiler({ writer, model: this.#model, clock, logger, metrics });
    this.#writes = new JobWrites({
      writer,
      model: this.#model,
      awaitRules,
      logger,
      metrics,
      onRefused: (job, message) => this.#putOff(job, message),
    });
    const moves = rules && new TaskMoves({ rules, store, clock, logger, metrics });
    this.#moves = moves && new MoveRounds({ moves, ...this.#forMoves() });
    this.#statuses = new StatusTeller({ store, clock, logger, metrics });
    this.#endOfPods = pods.onChange((change) => this.#takePod(change));
    for (const what of ["pods", "jobs"] as const)
      void { pods, jobs: this.#jobs }[what].synced(this.#stop.signal).then(
        () => this.#synced(what),
        () => undefined,
      );
    this.#rounds.start();
  }

  jobs(): readonly KubernetesObject[] {
    return this.#jobs.items();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    this.#endOfPods();
    const { logger } = this.#options;
    await stopParts(
      [
        { name: "objects", service: this.#objects },
        { name: "stream jobs", service: this.#jobs },
        { name: "flow networks", service: this.#networks },
        { name: "rounds", service: this.#rounds },
      ],
      { logger },
    );
    this.#statuses.close();
  }

  #synced(what: "jobs" | "pods"): void {
    this.#isSynced[what] = true;
    this.#rounds.trigger();
  }

  #takePod(change: InformerChange): void {
    const key = keyOf(change.object);
    this.#model.takePod(change, this.#writes.isOnItsWay(key) || this.#profiler.isOnItsWay(key));
    this.#networks.takePod(change);
    if (this.#jobPods.take(change)) this.#writes.saw(change.object);
    else if (!this.#profiler.takePod(change)) return;
    this.#rounds.trigger();
  }

  async #round(): Promise<void> {
    if (!this.#knowsAll()) return;
    const nodes = this.#objects.lists().nodes;
    const names = nodes.map(({ metadata }) => metadata.name).sort();
    const isFirst = this.#decided === null;
    const isChanged = this.#networks.update(names, this.#options.graphs.cluster());
    if (isChanged && !isFirst) this.#change = "changed";
    const { known, uids } = this.#readJobs();
    // Faster than the garbage collector, which looks at new definitions every 30 s.
    for (const pod of this.#jobPods.orphans(uids)) await this.#writes.delete(pod);
    const all = [...known.values()];
    for (const job of all) await this.#leaveLostNodes(job);
    await this.#advanceMove(known);
    if (this.#paces.readAll(known, this.#placements)) this.#change = "changed";
    const streamed = this.#streamNodes(all, names);
    if (await this.#profiler.learn(all, streamed)) this.#change = "changed";
    const verdicts = await this.#decide(all, streamed);
    const flows = new JobFlows({
      podOf: (job, task, node) => this.#podOn(job, task, node),
      addresses: addressesOf(nodes),
    });
    for (const job of all) await this.#carryOut(job, verdicts.get(job.key)!, flows);
    this.#publish(flows, names);
    for (const job of all) await this.#openGates(job, flows);
    await this.#startProfiling();
    await this.#tell(known, verdicts, flows);
    const { plans } = this.#options;
    this.#moves?.end({
      areFlowsApplied: (uid) =>
        flows.withoutAddress(uid).length === 0 && plans.areApplied(flows.nodesOf(uid)),
      isCalm: this.#change === null,
      known: all,
      nodes: streamed,
      networks: this.#networks,
    });
  }

  #forMoves(): Omit<ConstructorParameters<typeof MoveRounds>[0], "moves"> {
    return {
      hostOf: (uid, task) => this.#placements.get(uid)?.hosts.get(task) ?? null,
      podOn: (job, task, node) => this.#podOn(job, task, node),
      toDecide: (job) => this.#toDecide(job),
    };
  }

  #knowsAll(): boolean {
    const { jobs, pods } = this.#isSynced;
    return jobs && pods && this.#model.isSynced && this.#networks.isSynced;
  }

  async #carryOut(job: KnownJob, verdict: Verdict, flows: JobFlows): Promise<void> {
    if (verdict.kind === "placed") this.#placements.set(job.uid, verdict.placement);
    const placement = this.#placements.get(job.uid) ?? null;
    const besides = this.#moves?.besides(job.uid) ?? null;
    await this.#writes.carryOut(job, placement, this.#jobPods.of(job.uid), besides);
    if (verdict.kind === "placed") flows.add(job, verdict.placement);
  }

  async #advanceMove(known: ReadonlyMap<string, KnownJob>): Promise<void> {
    const step = (await this.#moves?.advance(known)) ?? null;
    const placement = step === null ? undefined : this.#placements.get(step.uid);
    if (step === null || placement === undefined) return;
    const hosts = new Map(placement.hosts).set(step.task, step.node);
    this.#placements.set(step.uid, { ...placement, hosts });
    this.#change = "changed";
  }

  #podOn(job: KnownJob, task: string, node: string): KubernetesObject | null {
    return this.#jobPods.of(job.uid).get(this.#writes.podName(job, task, node)) ?? null;
  }

  async #startProfiling(): Promise<void> {
    await this.#profiler.start({
      allows: (pod, node) => rejectionOf(this.#model.model, pod, node) === null,
      runningPod: (job, task) => {
        const node = this.#placements.get(job.uid)?.hosts.get(task);
        return node === undefined ? null : this.#podOn(job, task, node);
      },
    });
  }

  #streamNodes(known: readonly KnownJob[], names: readonly string[]): StreamNode[] {
    const { model } = this.#model;
    const held = known.flatMap((job) => this.#writes.podKeys(job, this.#placements.get(job.uid) ?? null));
    return streamNodes(model, held, names);
  }

  #readJobs(): { readonly known: Map<string, KnownJob>; readonly uids: ReadonlySet<string> } {
    const known = new Map<string, KnownJob>();
    const uids = new Set<string>();
    for (const object of this.#jobs.items()) {
      const { uid = "", deletionTimestamp } = object.metadata;
      if (deletionTimestamp !== undefined) continue;
      uids.add(uid);
      const job = this.#known.of(object);
      if (typeof job === "string") {
        this.#statuses.refused(object, job);
        continue;
      }
      known.set(uid, job);
      if (this.#statuses.isNew(object)) {
        const placement = readPlacement(object);
        if (placement !== null) this.#placements.set(uid, placement);
      }
    }
    for (const uid of this.#placements.keys()) {
      if (uids.has(uid)) continue;
      this.#placements.delete(uid);
      this.#change ??= "left";
    }
    this.#known.keep(uids);
    this.#statuses.keep(uids);
    this.#putOffs.keep(uids);
    this.#writes.keep(uids);
    this.#moves?.keep(uids);
    return { known, uids };
  }

  async #leaveLostNodes(job: KnownJob): Promise<void> {
    const placement = this.#placements.get(job.uid);
    if (placement === undefined) return;
    const pods = this.#jobPods.of(job.uid);
    const hosts = new Map(placement.hosts);
    for (const [task, node] of placement.hosts) {
      const pod = pods.get(this.#writes.podName(job, task, node));
      const isRejected = pod !== undefined && isUnschedulable(pod);
      if (!job.definition.tasks.has(task) || isRejected || isLost(this.#model.model, node, pod))
        hosts.delete(task);
      if (isRejected) {
        this.#putOffs.add(job.uid, `kube-scheduler doesn't let task ${task} onto ${node}; tried again soon`);
        await this.#writes.delete(pod);
      }
    }
    if (hosts.size === placement.hosts.size) return;
    this.#change ??= "left";
    if (hosts.size === 0) this.#placements.delete(job.uid);
    else this.#placements.set(job.uid, { ...placement, hosts });
  }

  #toDecide(job: KnownJob): DecidedJob & KnownJob {
    const { model } = this.#model;
    return {
      ...job,
      placement: this.#placements.get(job.uid) ?? null,
      putOff: this.#putOffs.of(job.uid),
      requestsOf: (task: string) => requestsOf(model, job.samples.get(task)!),
      rejection: (task: string, node: string) => rejectionOf(model, job.samples.get(task)!, node),
      measured: this.#profiler.secondsOf(job),
      fastest: this.#paces.fastest(job.uid),
    };
  }

  /** Reuses the last decision while nothing changes, because searching is slow. */
  async #decide(known: readonly KnownJob[], nodes: readonly StreamNode[]): Promise<Map<string, Verdict>> {
    const { model } = this.#model;
    const jobs = known.map((job) => this.#toDecide(job));
    const { clock, strategy } = this.#options;
    const change = this.#change;
    const basisOf = ({ uid, object, placement, putOff }: (typeof jobs)[number]): unknown => [
      uid,
      object.metadata.generation,
      [...(placement?.hosts ?? [])],
      putOff,
    ];
    const basis = JSON.stringify([nodes, jobs.map(basisOf)]);
    const decided = this.#decided;
    const isFresh = decided !== null && clock.monotonic() < decided.untilMs;
    if (isFresh && change === null && decided.basis === basis && decided.model === model)
      return decided.verdicts;
    this.#change = null;
    const { network, paths } = this.#networks;
    const verdicts = await decide({ network, paths, nodes, jobs, strategy, change });
    this.#decided = { basis, model, verdicts, untilMs: clock.monotonic() + DECIDED_MS };
    return verdicts;
  }

  #putOff(job: KnownJob, message: string): void {
    this.#placements.delete(job.uid);
    this.#putOffs.add(job.uid, message);
    this.#change ??= "left";
  }

  #publish(flows: JobFlows, names: readonly string[]): void {
    const { byNode, withoutPlace } = contentsOf([...flows.addressed, ...this.#networks.floors], {
      nodes: names,
      addressOf: (node) => flows.addressOfNode(node),
      capacityOf: (source, target) => this.#networks.capacityOf(source, target),
    });
    this.#options.plans.publish(byNode);
    flows.leaveOut(withoutPlace);
  }

  async #openGates(job: KnownJob, flows: JobFlows): Promise<void> {
    const { plans, awaitRules } = this.#options;
    if (awaitRules && !(flows.isComplete(job.uid) && plans.areApplied(flows.nodesOf(job.uid)))) return;
    await this.#writes.openGates(this.#jobPods.of(job.uid));
  }

  async #tell(
    known: ReadonlyMap<string, KnownJob>,
    verdicts: ReadonlyMap<string, Verdict>,
    flows: JobFlows,
  ): Promise<void> {
    const { plans, awaitRules } = this.#options;
    for (const job of known.values()) {
      const placement = this.#placements.get(job.uid) ?? null;
      await this.#statuses.tell({
        job,
        verdict: verdicts.get(job.key)!,
        placement,
        measured: this.#paces.of(job.uid),
        pods: this.#jobPods.of(job.uid),
        podName: (task, node) => this.#writes.podName(job, task, node),
        flows: {
          isAwaited: awaitRules,
          withoutAddress: flows.withoutAddress(job.uid),
          withoutPlace: flows.withoutPlace(job.uid),
          areApplied: plans.areApplied(flows.nodesOf(job.uid)),
        },
        profiles: this.#profiler.viewOf(job.uid),
      });
    }
    await this.#statuses.tellRefused();
    await this.#networks.tell(this.#options.clock.now(), flows.leftOut);
  }
}
