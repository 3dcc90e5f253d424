// Worker thread for large plans: up to 1 s of arithmetic that must not delay kube-scheduler's requests.
import { parentPort } from "node:worker_threads";
import { ClusterGraph } from "@isochrone/topology";
import { reasonOf } from "@isochrone/primitives";
import { EarlyPlans } from "../domain/early-plans.ts";
import type { SearchResult } from "../domain/search.ts";
import { unpacked } from "./plan-messages.ts";
import type { NodeColumns, PlanAnswer, PlanRequest, PlanTask } from "./plan-messages.ts";

const port = parentPort!;

let graph: ClusterGraph | null = null;
let nodes: NodeColumns | null = null;
const early = new EarlyPlans();

port.on("message", ({ id, task }: PlanRequest) => port.postMessage(answer(id, task)));

function answer(id: number, task: PlanTask | null): PlanAnswer {
  try {
    return task === null ? { id } : { id, result: resultOf(task) };
  } catch (error) {
    return { id, failure: reasonOf(error) };
  }
}

function resultOf({ cluster, problem, options, turn, cut }: PlanTask): SearchResult {
  if (cluster !== null) {
    graph = new ClusterGraph(cluster);
    graph.prepare();
  }
  nodes = problem.nodes ?? nodes;
  if (graph === null || nodes === null) throw new Error("the thread has no cluster graph or no nodes");
  const now = (): number => performance.now();
  const isCut = (): boolean => Atomics.load(cut, 0) !== 0;
  return early.search(unpacked(problem, nodes, graph), { ...options, now, isCut }, turn);
}
