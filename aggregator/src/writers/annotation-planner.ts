import type { KubernetesObject } from "@isochrone/kubernetes";
import type { Clock, Logger } from "@isochrone/runtime";
import {
  ANNOTATED_BY,
  isNodeAnnotation,
  isWorkloadAnnotation,
  readNodeAnnotations,
  type ReadNodeAnnotations,
} from "@isochrone/topology";
import { urgency } from "./domain/due.ts";
import { ownAnnotations } from "./domain/node-figures.ts";
import { markText, readMark, type Writer, type WriterMark } from "@isochrone/topology";
import { yieldsTo } from "./domain/writer-mark.ts";
import type { PublishedGraphs } from "../domain/graphs/graph-keeper.ts";
import { NodeRound, nothing, WorkloadRound, type OwnAnnotations, type Want } from "./annotation-round.ts";
import type { WriteKind } from "./metrics.ts";
import type { ObjectMemory } from "./object-writer.ts";
import type { Ownership } from "./ownership.ts";
import type { AnnotationConfig } from "./settings.ts";
import type { PendingWrite } from "./write-queue.ts";

export interface AnnotatedObjects {
  nodes(): readonly KubernetesObject[];
  workloads(): readonly KubernetesObject[];
  /** Returns the current object, or null if it was deleted. */
  latest(object: KubernetesObject): KubernetesObject | null;
}

interface AnnotationPlannerOptions {
  readonly config: AnnotationConfig;
  readonly objects: AnnotatedObjects;
  readonly ownership: Ownership;
  readonly self: Writer;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called between steps to yield to the event loop. @default never */
  readonly turn?: () => Promise<void> | null;
}

interface AnnotationPlan {
  readonly pending: PendingWrite[];
  /** Coordinates were left out. */
  readonly isFrameless: boolean;
}

type AnnotatedKind = Exclude<WriteKind, "configmap">;

/** A workload's `observed-at` is its graph's time, slightly before the write. */
const GRAPH_LAG_MS = 30_000;
const OBJECTS_PER_STEP = 100;
/** Intervals without a reaction to a change after which another writer counts as gone. */
const SILENT_INTERVALS = 3;

/** Keeps no object state except results of writes. */
export class AnnotationPlanner {
  readonly #options: AnnotationPlannerOptions;
  readonly #memories: Record<AnnotatedKind, Map<string, ObjectMemory>> = {
    node: new Map(),
    workload: new Map(),
  };
  readonly #read = new WeakMap<KubernetesObject, ReadNodeAnnotations>();
  readonly #oldestMs: Record<AnnotatedKind, number | null> = { node: null, workload: null };
  readonly #yielded: Record<AnnotatedKind, number> = { node: 0, workload: 0 };

  constructor(options: AnnotationPlannerOptions) {
    this.#options = options;
  }

  /** Age of this replica's oldest annotations, ms; null: none. */
  oldestAgeMs(kind: AnnotatedKind): number | null {
    const oldestMs = this.#oldestMs[kind];
    return oldestMs === null ? null : Math.max(0, this.#options.clock.now() - oldestMs);
  }

  disputed(kind: AnnotatedKind): number {
    return [...this.#memories[kind].values()].reduce((sum, { disputed }) => sum + disputed.size, 0);
  }

  yielded(kind: AnnotatedKind): number {
    return this.#yielded[kind];
  }

  async plan(graphs: PublishedGraphs): Promise<AnnotationPlan> {
    const pending: PendingWrite[] = [];
    const isFrameless = await this.#planNodes(graphs, pending);
    await this.#planWorkloads(graphs, pending);
    return { pending, isFrameless };
  }

  async #planNodes(graphs: PublishedGraphs, pending: PendingWrite[]): Promise<boolean> {
    const { config, objects, ownership } = this.#options;
    const nodes = objects.nodes();
    const round = config.nodes === true ? await this.#nodeRound(graphs, nodes) : null;
    // One replica writes costs and coordinates of a small cluster.
    const isMine = (name: string): boolean =>
      round === null || round.wanted.hasCosts ? ownership.isLeader() : ownership.owns(`node/${name}`);
    this.#oldestMs.node = null;
    this.#yielded.node = 0;
    await this.#each(nodes, (node) => {
      const { name } = node.metadata;
      const mine = (): boolean => isMine(name);
      const want = round === null ? nothing(this.#own("node", node), config.prefix) : round.of(name);
      if (want !== null && mine()) this.#consider("node", node, want, mine, pending);
    });
    this.#forget("node", nodes);
    return round?.isFrameless ?? false;
  }

  async #nodeRound(graphs: PublishedGraphs, nodes: readonly KubernetesObject[]): Promise<NodeRound> {
    const { config, ownership, clock } = this.#options;
    const read = new Map<string, ReadNodeAnnotations>();
    await this.#each(nodes, (node) => read.set(node.metadata.name, this.#readNode(node)));
    const { prefix } = config;
    return new NodeRound(read, { graphs, prefix, nowMs: clock.now(), isLeader: ownership.isLeader() });
  }

  async #planWorkloads(graphs: PublishedGraphs, pending: PendingWrite[]): Promise<void> {
    const { config, objects, ownership } = this.#options;
    const workloads = objects.workloads();
    const round = config.workloads ? new WorkloadRound(graphs, config.prefix) : null;
    this.#oldestMs.workload = null;
    this.#yielded.workload = 0;
    await this.#each(workloads, (workload) => {
      const own = this.#own("workload", workload);
      const want = round === null ? nothing(own, config.prefix) : round.of(workload, own);
      const { kind, metadata } = workload;
      const mine = (): boolean => ownership.owns(`${kind}/${metadata.namespace}/${metadata.name}`);
      if (want !== null && mine()) this.#consider("workload", workload, want, mine, pending);
    });
    this.#forget("workload", workloads);
  }

  #consider(
    kind: AnnotatedKind,
    object: KubernetesObject,
    want: Want,
    isMine: () => boolean,
    pending: PendingWrite[],
  ): void {
    const { config, clock, objects } = this.#options;
    const { name, namespace, uid, deletionTimestamp } = object.metadata;
    const memory = this.#memory(kind, object);
    const { change } = want;
    const minIntervalMs = kind === "node" ? config.minIntervalMs : config.workloadIntervalMs + GRAPH_LAG_MS;
    const rival = this.#rivalOf(object, want, memory, minIntervalMs);
    if (rival !== null) return this.#yieldTo(rival, kind, object);
    const observedAtMs = this.#observedAt(want, memory);
    if (observedAtMs !== null && observedAtMs > 0)
      this.#oldestMs[kind] = Math.min(this.#oldestMs[kind] ?? Infinity, observedAtMs);
    const nowMs = clock.monotonic();
    if (deletionTimestamp !== undefined || nowMs < memory.blockedUntilMs) return;
    if (nowMs - memory.writtenMs < Math.min(minIntervalMs, config.refreshMs)) return;
    const subject = namespace === undefined ? name : `${namespace}/${name}`;
    const rule = { refreshMs: config.refreshMs, minIntervalMs };
    const urgent = urgency({ name: subject, observedAtMs, change }, rule, clock.now());
    // Nothing is known, and nothing is written.
    if (urgent === null || (observedAtMs === null && want.isEmpty)) return;
    pending.push({
      kind,
      subject: `${object.kind} ${subject}`,
      resource: `${object.kind.toLowerCase()}s`,
      urgency: urgent,
      task: () => {
        const latest = objects.latest(object);
        if (latest === null || latest.metadata.uid !== uid || latest.metadata.deletionTimestamp !== undefined)
          return null;
        if (this.#isOfAnother(latest)) memory.tookOverMs = clock.now();
        return { object: latest, annotations: this.#marked(want), memory, isMine };
      },
    });
  }

  #isOfAnother({ metadata }: KubernetesObject): boolean {
    const mark = readMark(metadata.annotations?.[ANNOTATED_BY], this.#options.clock.now());
    return mark !== null && mark.name !== this.#options.self.name;
  }

  #marked(want: Want): ReadonlyMap<string, string> {
    const { self, clock } = this.#options;
    if (want.isRemoval === true) return want.annotations();
    return new Map([...want.annotations(), [ANNOTATED_BY, markText({ ...self, atMs: clock.now() })]]);
  }

  /**
   * Another installation's active annotator of the object; null: none. Both use one field manager, so each
   * would undo the other's writes.
   */
  #rivalOf(
    { metadata }: KubernetesObject,
    { change, isRemoval }: Want,
    memory: ObjectMemory,
    minIntervalMs: number,
  ): WriterMark | null {
    const { self, clock } = this.#options;
    const text = metadata.annotations?.[ANNOTATED_BY] ?? null;
    if (memory.mark === undefined) memory.mark = text;
    const mark = text === null ? null : readMark(text, clock.now());
    if (mark === null || mark.name === self.name) return null;
    if (isRemoval !== true) {
      const isSilent = this.#isSilent(mark, change, metadata, memory, minIntervalMs);
      return yieldsTo(self, mark) && !isSilent ? mark : null;
    }
    // The watch may not have shown our own write yet.
    return text === memory.mark || clock.monotonic() - memory.writtenMs < minIntervalMs ? null : mark;
  }

  /** True if the rival leaves a change unwritten. The wait doubles if it takes the object back. */
  #isSilent(
    mark: WriterMark,
    change: number,
    { annotations = {} }: KubernetesObject["metadata"],
    memory: ObjectMemory,
    minIntervalMs: number,
  ): boolean {
    const { clock, config } = this.#options;
    const nowMs = clock.monotonic();
    memory.patienceMs ??= SILENT_INTERVALS * minIntervalMs;
    if (memory.tookOverMs !== undefined && mark.atMs > memory.tookOverMs) {
      memory.patienceMs *= 2;
      memory.tookOverMs = undefined;
    }
    // A writer with another prefix does not react to changes of our annotations.
    const isChanged = change >= 1 && annotations[`${config.prefix}observed-at`] !== undefined;
    if (!isChanged) memory.unwritten = undefined;
    else if (memory.unwritten?.markedMs !== mark.atMs)
      memory.unwritten = { markedMs: mark.atMs, sinceMs: nowMs };
    return memory.unwritten !== undefined && nowMs - memory.unwritten.sinceMs > memory.patienceMs;
  }

  #yieldTo(rival: WriterMark, kind: AnnotatedKind, { metadata }: KubernetesObject): void {
    this.#yielded[kind]++;
    const { logger, self } = this.#options;
    logger.warnOnce(
      `annotations:rival:${rival.name}:${kind}`,
      "another installation's aggregator annotates the same objects and began later: they are left to it",
      {
        other: rival.name,
        otherSince: new Date(rival.sinceMs).toISOString(),
        self: self.name,
        kind,
        example: metadata.name,
      },
    );
  }

  /** Uses the last write's time if another manager owns `observed-at`. */
  #observedAt({ observedAtMs }: Want, memory: ObjectMemory): number | null {
    const { clock, config } = this.#options;
    if (!memory.disputed.has(`${config.prefix}observed-at`) || !Number.isFinite(memory.writtenMs))
      return observedAtMs;
    return clock.now() - (clock.monotonic() - memory.writtenMs);
  }

  /** Cached per version, because most of 5,000 objects do not change between rounds. */
  #readNode(node: KubernetesObject): ReadNodeAnnotations {
    const { prefix } = this.#options.config;
    const memory = this.#memories.node.get(node.metadata.uid ?? "");
    if (memory !== undefined && memory.disputed.size + memory.foreign.size > 0)
      return readNodeAnnotations(this.#own("node", node), [prefix]);
    let read = this.#read.get(node);
    if (read === undefined) {
      read = readNodeAnnotations(this.#own("node", node), [prefix]);
      this.#read.set(node, read);
    }
    return read;
  }

  /** Current annotations, with the values that we would have written for those of another manager. */
  #own(kind: AnnotatedKind, object: KubernetesObject): OwnAnnotations {
    const { prefix } = this.#options.config;
    const { annotations = {}, uid = "" } = object.metadata;
    const own = ownAnnotations(
      annotations,
      prefix,
      kind === "node" ? isNodeAnnotation : isWorkloadAnnotation,
    );
    const memory = this.#memories[kind].get(uid);
    for (const key of memory?.foreign ?? []) own.delete(key);
    for (const [key, text] of memory?.disputed ?? []) {
      // A removed field has no owner any more.
      if (annotations[key] === undefined) memory?.disputed.delete(key);
      else own.set(key, text);
    }
    return Object.fromEntries(own);
  }

  #memory(kind: AnnotatedKind, { metadata }: KubernetesObject): ObjectMemory {
    const memories = this.#memories[kind];
    let memory = memories.get(metadata.uid ?? "");
    if (memory === undefined) {
      memory = {
        disputed: new Map(),
        foreign: new Set(),
        mark: undefined,
        patienceMs: undefined,
        tookOverMs: undefined,
        unwritten: undefined,
        writtenMs: Number.NEGATIVE_INFINITY,
        blockedUntilMs: Number.NEGATIVE_INFINITY,
      };
      memories.set(metadata.uid ?? "", memory);
    }
    return memory;
  }

  #forget(kind: AnnotatedKind, objects: readonly KubernetesObject[]): void {
    const memories = this.#memories[kind];
    if (memories.size <= objects.length) return;
    const present = new Set(objects.map(({ metadata }) => metadata.uid ?? ""));
    for (const uid of memories.keys()) if (!present.has(uid)) memories.delete(uid);
  }

  async #each(
    objects: readonly KubernetesObject[],
    visit: (object: KubernetesObject) => void,
  ): Promise<void> {
    const { turn = (): null => null } = this.#options;
    let untilTurn = OBJECTS_PER_STEP;
    for (const object of objects) {
      visit(object);
      if (--untilTurn > 0) continue;
      untilTurn = OBJECTS_PER_STEP;
      const wait = turn();
      if (wait !== null) await wait;
    }
  }
}
