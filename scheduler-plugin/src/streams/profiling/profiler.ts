// Measures tasks: one pod on one node per kind of node, repeated from time to time.
import { keyOf, StoreError } from "@isochrone/kubernetes";
import { looseFields, looseList, looseText } from "@isochrone/primitives";
import type {
  ContainerStatus,
  InformerChange,
  KubernetesObject,
  PodSpec,
  PodStatus,
} from "@isochrone/kubernetes";
import type { Clock, Logger } from "@isochrone/runtime";
import type { ClusterModel } from "../../planner/cluster-model.ts";
import type { MeasuredSeconds, StreamNode } from "../domain/planned-job.ts";
import { isSettled, kindOf, type Profile } from "../domain/profiles.ts";
import type { JobPodWriter } from "../job-pods.ts";
import type { KnownJob } from "../known-jobs.ts";
import type { StreamMetrics } from "../metrics.ts";
import { profilePod, profilePodName, STREAM_PROFILE_LABEL } from "./profile-pod.ts";
import { digestOf, runOf } from "./profile-run.ts";
import { readProfiles } from "./profile-status.ts";

interface ProfilerOptions {
  readonly writer: JobPodWriter;
  readonly model: ClusterModel;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: StreamMetrics;
}

interface Surroundings {
  readonly allows: (pod: KubernetesObject, node: string) => boolean;
  readonly runningPod: (job: KnownJob, task: string) => KubernetesObject | null;
}

interface Pair {
  readonly job: KnownJob;
  readonly task: string;
  readonly kind: string;
  readonly work: string;
  readonly nodes: readonly StreamNode[];
}

export interface ProfileView {
  readonly profiles: readonly Profile[];
  readonly wanted: number;
}

/** Concurrent pods, because they take room from tasks. One per node. */
const MAX_PODS = 4;
/** Pairs per job; further ones keep their declared times. */
const MAX_PAIRS = 256;
const MAX_KEPT = 10_000;
const PAUSE_MS = 60_000;

export class Profiler {
  readonly #options: ProfilerOptions;
  readonly #profiles = new Map<string, Map<string, Profile>>();
  readonly #wanted = new Map<string, number>();
  /** Keyed by work and kind, including jobs that are gone. */
  readonly #kept = new Map<string, Profile>();
  readonly #pods = new Map<string, KubernetesObject>();
  /** First sight by UID, monotonic. */
  readonly #seenMs = new Map<string, number>();
  readonly #onTheirWay = new Map<string, string>();
  /** Earliest creation by pod key, monotonic. */
  readonly #pauses = new Map<string, number>();
  #pairs: readonly Pair[] = [];

  constructor(options: ProfilerOptions) {
    this.#options = options;
  }

  isOnItsWay(podKey: string): boolean {
    return this.#onTheirWay.has(podKey);
  }

  takePod({ type, object }: InformerChange): boolean {
    if (object.metadata.labels?.[STREAM_PROFILE_LABEL] === undefined) return false;
    const key = keyOf(object);
    const { uid = "" } = object.metadata;
    if (type === "deleted") this.#seenMs.delete(uid);
    else this.#seenMs.set(uid, this.#seenMs.get(uid) ?? this.#options.clock.monotonic());
    if (type === "deleted") this.#pods.delete(key);
    else this.#pods.set(key, object);
    if (type === "deleted" || nodeOf(object) !== "") this.#onTheirWay.delete(key);
    return true;
  }

  secondsOf(job: KnownJob): MeasuredSeconds {
    const profiles = this.#profiles.get(job.uid);
    return (task, node) => {
      const profiling = job.definition.tasks.get(task)?.profiling ?? null;
      if (profiling === null || profiles === undefined) return null;
      const profile = profiles.get(pairKey(task, kindOf(node, profiling.labels)));
      return profile?.work === job.works.get(task) ? profile!.secondsPerFrame : null;
    };
  }

  /** Null if the job has no task to profile. */
  viewOf(uid: string): ProfileView | null {
    const wanted = this.#wanted.get(uid) ?? 0;
    const profiles = [...(this.#profiles.get(uid)?.values() ?? [])];
    return wanted === 0 && profiles.length === 0 ? null : { profiles, wanted };
  }

  /** Collects results. Returns whether a measurement changed. Never rejects. */
  async learn(jobs: readonly KnownJob[], nodes: readonly StreamNode[]): Promise<boolean> {
    this.#read(jobs);
    const kinds = new Kinds(nodes);
    this.#pairs = jobs.flatMap((job) => this.#pairsOf(job, kinds));
    let hasChanged = this.#reuse();
    const byPod = new Map(this.#pairs.map((pair) => [podKeyOf(pair), pair]));
    for (const [key, pod] of this.#pods) {
      if (pod.metadata.deletionTimestamp !== undefined) continue;
      const pair = byPod.get(key);
      if (pair === undefined) await this.#delete(pod);
      else if (await this.#finish(pod, pair)) hasChanged = true;
    }
    return hasChanged;
  }

  /** Starts pods for missing measurements. Never rejects. */
  async start(around: Surroundings): Promise<void> {
    for (const pair of this.#pairs) await this.#start(pair, around);
  }

  #read(jobs: readonly KnownJob[]): void {
    const uids = new Set(jobs.map(({ uid }) => uid));
    for (const uid of this.#profiles.keys())
      if (!uids.has(uid)) {
        this.#profiles.delete(uid);
        this.#wanted.delete(uid);
      }
    const now = this.#options.clock.monotonic();
    for (const [key, untilMs] of this.#pauses) if (untilMs <= now) this.#pauses.delete(key);
    for (const { uid, object } of jobs) {
      if (this.#profiles.has(uid)) continue;
      const read = readProfiles(object);
      this.#profiles.set(uid, new Map(read.map((each) => [pairKey(each.task, each.kind), each])));
      for (const profile of read) this.#keep(profile);
    }
  }

  #pairsOf(job: KnownJob, kinds: Kinds): Pair[] {
    const pairs: Pair[] = [];
    for (const [task, work] of job.works) {
      const definition = job.definition.tasks.get(task)!;
      const { labels, isAnywhere } = definition.profiling!;
      for (const [kind, nodes] of kinds.by(labels))
        // Nodes of a kind share the values of all labels in the profile.
        if (isAnywhere || definition.secondsOn(nodes[0]!.labels) !== null)
          pairs.push({ job, task, kind, work, nodes });
    }
    const profiles = this.#profiles.get(job.uid)!;
    for (const [key, { task, work }] of profiles) if (job.works.get(task) !== work) profiles.delete(key);
    const kept = pairs.slice(0, MAX_PAIRS);
    this.#wanted.set(job.uid, kept.length);
    return kept;
  }

  /** Adopts other jobs' measurements of the same work. */
  #reuse(): boolean {
    let hasChanged = false;
    for (const pair of this.#pairs) {
      const before = this.#profileOf(pair);
      const kept = this.#kept.get(pairKey(pair.work, pair.kind));
      if (kept === undefined || (before !== undefined && before.atMs >= kept.atMs)) continue;
      this.#set(pair, { ...kept, task: pair.task });
      hasChanged ||= before?.secondsPerFrame !== kept.secondsPerFrame;
    }
    return hasChanged;
  }

  async #finish(pod: KubernetesObject, pair: Pair): Promise<boolean> {
    const { clock, logger, metrics } = this.#options;
    const nowMs = clock.now();
    const monotonicMs = clock.monotonic();
    const run = runOf(pod, monotonicMs - (this.#seenMs.get(pod.metadata.uid ?? "") ?? monotonicMs));
    if (run.kind === "under_way") return false;
    if (run.kind === "homeless") this.#pauses.set(keyOf(pod), monotonicMs + PAUSE_MS);
    await this.#delete(pod);
    if (run.kind === "homeless") return false;
    const { task, kind, work } = pair;
    const before = this.#profileOf(pair);
    const attempt = { task, kind, work, node: nodeOf(pod), atMs: nowMs };
    if (run.kind === "failed") {
      metrics.profiles.inc({ result: "failed" });
      logger.warn("a task of a stream job can't be profiled", { pod: keyOf(pod), reason: run.failure });
      const { image = null, secondsPerFrame = null } = before ?? {};
      this.#set(pair, { ...attempt, image, secondsPerFrame, failure: run.failure });
      return false;
    }
    metrics.profiles.inc({ result: "measured" });
    const { image, secondsPerFrame } = run;
    const profile: Profile = { ...attempt, image, secondsPerFrame, failure: null };
    this.#set(pair, profile);
    this.#keep(profile);
    return before?.secondsPerFrame !== secondsPerFrame;
  }

  async #start(pair: Pair, around: Surroundings): Promise<void> {
    const { clock } = this.#options;
    const key = podKeyOf(pair);
    if (this.#pods.has(key) || this.#onTheirWay.has(key) || this.#pauses.has(key)) return;
    const profile = this.#profileOf(pair);
    if (
      profile !== undefined &&
      isSettled(profile, pair.work, clock.now()) &&
      !this.#isOutdated(profile, pair, around)
    )
      return;
    const busy = new Set([...this.#onTheirWay.values(), ...[...this.#pods.values()].map(nodeOf)]);
    if (new Set([...this.#onTheirWay.keys(), ...this.#pods.keys()]).size >= MAX_PODS) return;
    const { job, task, kind } = pair;
    const name = profilePodName(job, task, kind);
    const judged = profilePod(job, task, null, name);
    const node = pair.nodes.find((each) => !busy.has(each.name) && around.allows(judged, each.name));
    if (node !== undefined) await this.#create(pair, profilePod(job, task, node.name, name), node.name);
  }

  /** The task runs another image now: its tag has moved. */
  #isOutdated({ image, atMs }: Profile, { job, task, nodes }: Pair, around: Surroundings): boolean {
    const pod = around.runningPod(job, task);
    if (pod === null || image === null || !nodes.some(({ name }) => name === nodeOf(pod))) return false;
    const [container = {}] = looseList<ContainerStatus>(looseFields<PodStatus>(pod.status).containerStatuses);
    const running = digestOf(container);
    const isNewer = Date.parse(looseText(pod.metadata.creationTimestamp)) > atMs;
    return isNewer && running !== null && running !== image;
  }

  async #create(pair: Pair, pod: KubernetesObject, node: string): Promise<void> {
    const { writer, model, clock, logger, metrics } = this.#options;
    const key = keyOf(pod);
    this.#onTheirWay.set(key, node);
    model.assume(pod, node);
    try {
      await writer.create(pod);
      return;
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      this.#forget(key);
      metrics.writeFailures.inc({ write: "pod", reason: error.code });
      logger.warnOnce("streams:profile", "a profiling pod can't be created", { pod: key, error });
      if (error.retryable || error.code === "conflict") {
        this.#pauses.set(key, clock.monotonic() + PAUSE_MS);
        return;
      }
      const { task, kind, work } = pair;
      const { image = null, secondsPerFrame = null } = this.#profileOf(pair) ?? {};
      const failure = `the API server refuses its pod: ${error.message}`;
      const atMs = clock.now();
      this.#set(pair, { task, kind, work, node, image, secondsPerFrame, atMs, failure });
    }
  }

  async #delete(pod: KubernetesObject): Promise<void> {
    const { writer, logger, metrics } = this.#options;
    this.#forget(keyOf(pod));
    try {
      await writer.delete(pod);
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      metrics.writeFailures.inc({ write: "pod", reason: error.code });
      logger.warnOnce("streams:profile", "a profiling pod can't be deleted, trying again", { error });
    }
  }

  #forget(podKey: string): void {
    if (this.#onTheirWay.delete(podKey)) this.#options.model.withdraw(podKey);
  }

  #profileOf({ job, task, kind }: Pair): Profile | undefined {
    return this.#profiles.get(job.uid)?.get(pairKey(task, kind));
  }

  #set({ job, task, kind }: Pair, profile: Profile): void {
    this.#profiles.get(job.uid)!.set(pairKey(task, kind), profile);
  }

  #keep(profile: Profile): void {
    if (profile.failure !== null) return;
    const key = pairKey(profile.work, profile.kind);
    if ((this.#kept.get(key)?.atMs ?? -Infinity) >= profile.atMs) return;
    this.#kept.set(key, profile);
    if (this.#kept.size > MAX_KEPT) this.#kept.delete(this.#kept.keys().next().value!);
  }
}

class Kinds {
  readonly #nodes: readonly StreamNode[];
  readonly #byLabels = new Map<string, Map<string, StreamNode[]>>();

  constructor(nodes: readonly StreamNode[]) {
    this.#nodes = nodes;
  }

  by(labels: readonly string[]): ReadonlyMap<string, readonly StreamNode[]> {
    const key = labels.join(",");
    const known = this.#byLabels.get(key);
    if (known !== undefined) return known;
    const kinds = Map.groupBy(this.#nodes, (node) => kindOf(node, labels));
    this.#byLabels.set(key, kinds);
    return kinds;
  }
}

function pairKey(task: string, kind: string): string {
  return `${task}\n${kind}`;
}

function podKeyOf({ job, task, kind }: Pair): string {
  return `${job.object.metadata.namespace ?? "default"}/${profilePodName(job, task, kind)}`;
}

function nodeOf({ spec }: KubernetesObject): string {
  return looseText(looseFields<PodSpec>(spec).nodeName);
}
