// Mode `paper`: the descheduling function of Marchese 2023, section 3.4, for each pod in turn. Uses the
// extender's strategy, weights and limits on the nodes that pass kube-scheduler's filters. Each call sees
// earlier pods on their targets.
import { NO_MEMORY, paperMove, rejectedNodes } from "@isochrone/placement";
import type {
  AssumedPod,
  DescheduleDecision,
  DescheduleRow,
  Halt,
  Move,
  PaperMove,
  PlacementProblem,
  Strategy,
} from "@isochrone/placement";
import type { Clock } from "@isochrone/runtime";
import { WorkflowGraph } from "@isochrone/topology";
import type { ClusterGraph } from "@isochrone/topology";
import type { Bytes, Millicores } from "@isochrone/primitives";
import { entryOf, usedBy } from "../../domain/reserved-use.ts";
import { ModelCheck } from "./model-check.ts";
import type { Survey, SurveyedPod } from "./survey.ts";
import { Turns } from "./turns.ts";

export interface Scoring {
  readonly strategy: Strategy;
  readonly usageHeadroom: boolean;
}

export interface PaperInput {
  readonly found: Survey;
  readonly cluster: ClusterGraph;
  readonly workflowGraph: (namespace: string, name: string) => WorkflowGraph | null;
  readonly scoring: Scoring;
  readonly closed: Halt | null;
  readonly clock: Pick<Clock, "monotonic">;
}

export async function paperDecision(input: PaperInput): Promise<DescheduleDecision> {
  const run = new PaperRun(input);
  const turns = new Turns(input.clock);
  for (const pod of input.found.pods.values()) {
    run.look(pod);
    await turns.next();
  }
  return { halt: input.closed, moves: run.moves, rows: run.rows, memory: NO_MEMORY };
}

interface Amounts {
  readonly cpuMillicores: Millicores;
  readonly memoryBytes: Bytes;
}

class PaperRun {
  readonly moves: Move[] = [];
  readonly rows: DescheduleRow[] = [];
  readonly #input: PaperInput;
  readonly #check: ModelCheck;
  readonly #names: readonly string[];
  readonly #owners = new Set<string>();
  readonly #graphs = new Map<string, WorkflowGraph>();
  readonly #assumed = new Map<string, readonly AssumedPod[]>();
  /** Expected usage of pods on this run's targets: no measurement shows it yet. */
  readonly #sent = new Map<string, Amounts>();

  constructor(input: PaperInput) {
    this.#input = input;
    this.#check = new ModelCheck(input.found);
    this.#names = input.cluster.nodes.map(({ name }) => name);
  }

  look(pod: SurveyedPod): void {
    const { closed, scoring } = this.#input;
    const { owner } = pod.movable;
    if (this.#owners.has(owner))
      return this.#say(pod, null, "max_per_workload", `a run moves at most 1 of ${owner}`);
    const move = paperMove(this.#problem(pod), pod.node, scoring.strategy);
    if (move === null) return this.#say(pod, null, "no_gain", "no node has a higher score");
    if (closed !== null) return this.#say(pod, move, "halted", closed.detail);
    this.#owners.add(owner);
    this.#send(pod, move);
  }

  #problem(pod: SurveyedPod): PlacementProblem {
    const { cluster, scoring } = this.#input;
    const { movable, identity, workload, node } = pod;
    const key = keyOf(pod);
    const problem = {
      pod: { namespace: identity.namespace, name: identity.name, workload, requests: identity.requests },
      candidates: this.#names.filter((name) => name === node || this.#check.verdict(movable, name) === null),
      cluster: { graph: cluster, ageSeconds: 0 },
      workflow: { graph: this.#graphOf(pod), ageSeconds: 0 },
      assumed: this.#assumed.get(key) ?? this.#input.found.assumed.get(key) ?? [],
      assumedUse: this.#sent,
    };
    const rejected = rejectedNodes(scoring.strategy, problem, scoring);
    return {
      ...problem,
      candidates: problem.candidates.filter((name) => name === node || !rejected.has(name)),
    };
  }

  #graphOf(pod: SurveyedPod): WorkflowGraph {
    const { namespace, workflow } = pod.identity;
    return this.#graphs.get(keyOf(pod)) ?? this.#input.workflowGraph(namespace, workflow)!;
  }

  #useOf(pod: SurveyedPod): Amounts {
    const graph = this.#graphOf(pod);
    const use = usedBy(entryOf(pod.identity, pod.node, graph, this.#input.cluster), graph);
    return { cpuMillicores: use.cpuMillicores ?? 0, memoryBytes: use.memoryBytes ?? 0 };
  }

  #send(pod: SurveyedPod, move: PaperMove): void {
    const { strategy } = this.#input.scoring;
    const { movable, identity, workload } = pod;
    const key = keyOf(pod);
    const to = move.to.node;
    const use = this.#useOf(pod);
    const before = this.#sent.get(to) ?? { cpuMillicores: 0, memoryBytes: 0 };
    this.#sent.set(to, {
      cpuMillicores: before.cpuMillicores + use.cpuMillicores,
      memoryBytes: before.memoryBytes + use.memoryBytes,
    });
    const assumed = this.#assumed.get(key) ?? this.#input.found.assumed.get(key) ?? [];
    this.#assumed.set(
      key,
      assumed.map((one) => (one.name === identity.name ? { ...one, node: to } : one)),
    );
    this.#graphs.set(key, withPodOn(this.#graphOf(pod), workload, identity.name, to));
    this.#check.moved(movable, to);
    const worth = { kind: "score", strategy: strategy.name, mode: strategy.mode, move } as const;
    this.moves.push({ workflow: key, pod: movable, from: pod.node, to, together: [], isPart: false, worth });
    this.#say(pod, move, "move", scoresOf(move, strategy));
  }

  #say(pod: SurveyedPod, move: PaperMove | null, decision: DescheduleRow["decision"], detail: string): void {
    this.rows.push({
      workflow: keyOf(pod),
      namespace: pod.identity.namespace,
      pod: pod.identity.name,
      from: pod.node,
      to: move?.to.node ?? null,
      cost: null,
      gain: null,
      groupSize: 1,
      rounds: move === null ? 0 : 1,
      decision,
      detail,
    });
  }
}

export function scoresOf(
  { from, to }: PaperMove,
  { name, mode }: { readonly name: string; readonly mode: string },
): string {
  const of = ({ node, score }: PaperMove["from"]): string => `${score.toFixed(1)} on ${node}`;
  return `by ${name}/${mode} its score is ${of(to)} and ${of(from)}`;
}

function keyOf({ identity: { namespace, workflow } }: SurveyedPod): string {
  return `${namespace}/${workflow}`;
}

function withPodOn(graph: WorkflowGraph, workload: string, pod: string, node: string): WorkflowGraph {
  const { version, observedAt, namespace, name, channels } = graph;
  const workloads = graph.workloads.map((one) =>
    one.name !== workload || one.namespace !== namespace
      ? one
      : { ...one, pods: one.pods.map((other) => (other.name === pod ? { ...other, node } : other)) },
  );
  return new WorkflowGraph({ version, observedAt, namespace, name, workloads, channels: [...channels] });
}
