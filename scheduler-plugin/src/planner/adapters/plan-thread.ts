// The thread in which large plans are searched: up to a second of arithmetic that kube-scheduler's requests must not wait for.
import { parentPort } from "node:worker_threads";
import { ClusterGraph } from "@isochrone/topology";
import { searchPlan } from "../domain/search.ts";
import { READY, unpacked } from "./plan-messages.ts";
import type { NodeColumns, PlanAnswer, PlanRequest } from "./plan-messages.ts";

const port = parentPort!;

let graph: ClusterGraph | null = null;
let nodes: NodeColumns | null = null;

port.on("message", (request: PlanRequest) => port.postMessage(answer(request)));
port.postMessage(READY);

function answer({ id, cluster, problem, options }: PlanRequest): PlanAnswer {
  try {
    if (cluster !== null) {
      graph = new ClusterGraph(cluster);
      graph.prepare();
    }
    nodes = problem.nodes ?? nodes;
    if (graph === null || nodes === null) throw new Error("the thread has no cluster graph or no nodes");
    const now = (): number => performance.now();
    return { id, result: searchPlan(unpacked(problem, nodes, graph), { ...options, now }) };
  } catch (error) {
    return { id, failure: error instanceof Error ? error.message : String(error) };
  }
}
